//! What supervision costs: many short programs, two at a time, with it and without.
//!
//! The ratio of `supervised` to `bare` is what counts; both depend on the machine and its moment.

use divan::Bencher;
use divan::counter::ItemsCount;
use nix::sys::wait::wait;
use outpost_runtime::process::{
    Bounds, Command, KEEP, Masks, Stop, Supervisor, run, supervise_if_asked,
};
use tokio::sync::watch;

/// Programs in one sample.
const PROGRAMS: usize = 2_000;
/// How many run at the same time.
const AT_ONCE: usize = 2;

fn main() {
    supervise_if_asked();
    divan::main();
}

/// `posix_spawn` and `wait`, and nothing else.
#[divan::bench(sample_count = 5, sample_size = 1)]
#[expect(
    clippy::zombie_processes,
    reason = "whichever ends first is waited for"
)]
fn bare(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(PROGRAMS)).bench_local(|| {
        for started in 0..PROGRAMS {
            if started >= AT_ONCE {
                wait().expect("a program is running");
            }
            std::process::Command::new("/bin/true")
                .spawn()
                .expect("it is there");
        }
        while wait().is_ok() {}
    });
}

/// A whole command: streams, supervision, and the certainty that nothing is left.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn supervised(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let supervisor = Supervisor::new();
    bencher.counter(ItemsCount::new(PROGRAMS)).bench_local(|| {
        runtime.block_on(async {
            tokio::join!(perform(&supervisor), perform(&supervisor));
        });
    });
    runtime.block_on(supervisor.close());
}

/// Runs one lane's share of the programs.
async fn perform(supervisor: &Supervisor) {
    let never = watch::channel(Stop::No).1;
    for _ in 0..PROGRAMS / AT_ONCE {
        let outcome = run(supervisor, command(), never.clone(), |_, _| {}).await;
        divan::black_box(outcome.expect("it is supervised"));
    }
}

fn command() -> Command {
    Command {
        argv: vec!["/bin/true".to_owned()],
        stdin: None,
        environment: std::env::vars_os().collect(),
        directory: "/".into(),
        keep: KEEP,
        whole: false,
        idle: None,
        bounds: Bounds::default(),
        marker: "run/task/1/attempt".to_owned(),
        streams: None,
        masks: Masks::default(),
    }
}
