//! The cases, for the system with the full guarantee.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::task::Poll;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use outpost_runtime::process::{
    Bounds, CHECKPOINT_VARIABLE, Command, CommandOutcome, Ended, Fault, Flood, GRACE, KEEP, Loss,
    Masks, Stop, Stream, StreamFiles, Supervisor, run, sweep,
};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// The first argument of a process that stands in for the runner, to be killed.
pub const RUNNER_ARGUMENT: &str = "__runner";

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

macro_rules! cases {
    ($($name:ident)*) => {
        /// Returns all cases.
        pub fn trials() -> Vec<Trial> {
            vec![$(Trial::test(stringify!($name), || -> Result<(), Failed> {
                $name();
                Ok(())
            })),*]
        }
    };
}

cases! {
    the_status_of_a_program_is_its_own
    a_signal_that_nobody_here_sent_is_reported
    a_missing_program_is_not_found
    a_program_that_cannot_be_executed_says_why
    a_missing_directory_is_no_missing_program
    a_program_is_looked_up_in_its_own_path
    arguments_may_be_as_long_as_the_kernel_takes
    an_argument_with_a_nul_is_refused_before_the_start
    a_program_gets_its_environment_and_nothing_else
    a_program_gets_default_signals_and_no_descriptors
    input_is_empty_unless_given
    a_large_input_and_a_large_output_do_not_wait_for_each_other
    an_input_that_is_not_read_is_no_fault
    large_streams_are_whole_on_disk_and_cut_in_the_tail
    an_empty_stream_makes_no_file
    what_is_not_utf8_is_replaced_in_the_tail_only
    secrets_reach_neither_disk_nor_live_nor_result
    a_full_disk_does_not_end_the_command
    a_descendant_that_holds_the_output_open_is_not_waited_for
    descendants_end_with_their_leader
    descendants_with_a_cleared_environment_end_too
    a_family_that_keeps_forking_ends
    a_stop_ends_the_whole_tree_after_the_grace_period
    a_launcher_that_dies_at_once_leaves_its_program_the_grace_period
    a_second_stop_shortens_the_grace_period
    a_stop_before_the_start_starts_nothing
    a_stop_of_one_action_leaves_the_other_alone
    an_action_that_is_dropped_is_ended
    descendants_end_with_a_killed_runner
    descendants_end_with_a_killed_runner_and_supervisor
    descendants_end_with_a_killed_runner_although_the_reaper_hangs
    polite_signals_do_not_end_the_watchers
    descendants_of_a_killed_reaper_end
    a_killed_supervisor_is_replaced
    a_sweep_ends_what_nobody_watches
    silence_beyond_the_limit_ends_the_action
    a_line_renews_the_limit_of_silence
    a_flood_of_lines_ends_the_action
    a_line_without_end_ends_the_action
    two_hundred_actions_at_once
    the_last_output_is_there_however_soon_the_action_ends
    closing_leaves_no_process
}

// The status of a program, and programs that cannot be started.

fn the_status_of_a_program_is_its_own() {
    for code in [0, 1, 126, 127, 255] {
        assert_eq!(
            perform(shell(&format!("exit {code}"))).ended,
            Ended::Exited(code)
        );
    }
}

fn a_signal_that_nobody_here_sent_is_reported() {
    assert_eq!(perform(shell("kill -KILL $$")).ended, Ended::Signalled(9));
    assert_eq!(perform(shell("kill -TERM $$")).ended, Ended::Signalled(15));
}

fn a_missing_program_is_not_found() {
    for program in ["no-such-program", "/no/such/program", "/bin/sh/x", ""] {
        let ended = Ended::NotFound {
            program: program.to_owned(),
        };
        assert_eq!(perform(command(&[program])).ended, ended);
    }
}

fn a_program_that_cannot_be_executed_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let not_executable = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        match perform(command(&[path.to_str().unwrap()])).ended {
            Ended::NotExecutable { reason, .. } => reason,
            other => panic!("{name}: {other:?}"),
        }
    };
    assert!(not_executable("no-permission", "#!/bin/sh\n", 0o644).contains("Permission denied"));
    assert!(not_executable("no-format", "just text\n", 0o755).contains("Exec format error"));
    assert!(not_executable("no-interpreter", "#!/no/such\n", 0o755).contains("No such file"));
    let mut bare = command(&["no-permission"]);
    bare.environment = vec![("PATH".into(), folder.path().into())];
    assert!(matches!(perform(bare).ended, Ended::NotExecutable { .. }));
}

fn a_missing_directory_is_no_missing_program() {
    let mut missing = shell("true");
    missing.directory = "/no/such/folder".into();
    assert!(matches!(perform(missing).ended, Ended::NoDirectory { .. }));
}

fn a_program_is_looked_up_in_its_own_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hello");
    fs::write(&path, "#!/bin/sh\necho \"$0\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut bare = command(&["hello"]);
    bare.environment = vec![(
        "PATH".into(),
        format!("/no:{}", folder.path().display()).into(),
    )];
    let outcome = perform(bare.clone());
    assert_eq!(outcome.stdout.tail, format!("{}\n", path.display()));
    bare.environment.clear();
    assert!(matches!(perform(bare).ended, Ended::NotFound { .. }));
}

fn arguments_may_be_as_long_as_the_kernel_takes() {
    let length = |text: &str| {
        let mut command = shell("echo ${#1}");
        command.argv.extend(["sh".to_owned(), text.to_owned()]);
        // Longer than what the socket to a reaper holds.
        command.argv.extend((0..8).map(|_| "y".repeat(100_000)));
        perform(command)
    };
    assert_eq!(length(&"x".repeat(100_000)).stdout.tail, "100000\n");
    match length(&"x".repeat(200_000)).ended {
        Ended::NotExecutable { reason, .. } => assert!(reason.contains("too long"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn an_argument_with_a_nul_is_refused_before_the_start() {
    let outcome = perform(command(&["echo", "a\0b"]));
    assert!(matches!(outcome.ended, Ended::NotExecutable { .. }));
}

// What a program starts with.

fn a_program_gets_its_environment_and_nothing_else() {
    let mut env = command(&["/usr/bin/env"]);
    env.environment = vec![("A".into(), "1".into()), ("A".into(), "2".into())];
    let outcome = perform(env);
    let mut lines: Vec<&str> = outcome.stdout.tail.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=2", "OUTPOST_ACTION=run/task/1/attempt"]);
}

fn a_program_gets_default_signals_and_no_descriptors() {
    // Not through a shell, which puts the signals in order itself.
    let signals = perform(command(&[
        "grep",
        "-E",
        "^Sig(Blk|Ign)",
        "/proc/self/status",
    ]));
    assert_eq!(signals.stdout.tail.lines().count(), 2);
    for line in signals.stdout.tail.lines() {
        // The C library keeps 32 and 33 to itself, so they stay as they were found.
        let set = u64::from_str_radix(line.rsplit_once('\t').unwrap().1, 16).unwrap();
        assert_eq!(set & 0x7fff_ffff, 0, "{line}");
    }
    // The fourth descriptor is the listing's own.
    let descriptors = perform(command(&["ls", "/proc/self/fd"]));
    assert_eq!(descriptors.stdout.tail, "0\n1\n2\n3\n");
}

fn input_is_empty_unless_given() {
    assert_eq!(perform(command(&["cat"])).stdout.tail, "");
    let mut given = command(&["cat"]);
    given.stdin = Some("grüße\n".to_owned());
    assert_eq!(perform(given).stdout.tail, "grüße\n");
}

fn a_large_input_and_a_large_output_do_not_wait_for_each_other() {
    let mut cat = command(&["cat"]);
    let text = "0123456789abcdef".repeat(256 * 1024);
    cat.stdin = Some(text.clone());
    cat.whole = true;
    let outcome = perform(cat);
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert!(outcome.stdout.whole.unwrap() == text.as_bytes());
}

fn an_input_that_is_not_read_is_no_fault() {
    let mut command = command(&["true"]);
    command.stdin = Some("x".repeat(4 * 1024 * 1024));
    assert_eq!(perform(command).ended, Ended::Exited(0));
}

// Output.

fn large_streams_are_whole_on_disk_and_cut_in_the_tail() {
    let folder = tempfile::tempdir().unwrap();
    let mut both = shell("seq 1 300000; seq 1 300001 >&2; echo end");
    both.streams = Some(files(folder.path()));
    both.keep = 8;
    let outcome = perform(both);
    let numbers = |last: u32| {
        (1..=last)
            .map(|number| format!("{number}\n"))
            .collect::<String>()
    };
    let stdout = fs::read_to_string(outcome.stdout.file.unwrap()).unwrap();
    assert!(stdout == numbers(300_000) + "end\n");
    assert_eq!(outcome.stdout.bytes, stdout.len() as u64);
    assert_eq!(
        (outcome.stdout.tail.as_str(), outcome.stdout.truncated),
        ("000\nend\n", true)
    );
    let stderr = fs::read_to_string(outcome.stderr.file.unwrap()).unwrap();
    assert!(stderr == numbers(300_001));
    assert_eq!(outcome.stderr.tail, "\n300001\n");
    assert_eq!(outcome.stderr.loss, None);
}

fn an_empty_stream_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut quiet = shell("echo out");
    quiet.streams = Some(files(folder.path()));
    let outcome = perform(quiet);
    assert!(outcome.stdout.file.unwrap().exists());
    assert_eq!(outcome.stderr.file, None);
    assert!(!folder.path().join("stderr").exists());
}

fn what_is_not_utf8_is_replaced_in_the_tail_only() {
    let mut bytes = shell(r"printf 'a\377\342\202\254b\342\202'");
    bytes.whole = true;
    let outcome = perform(bytes);
    assert_eq!(outcome.stdout.tail, "a\u{fffd}€b\u{fffd}");
    assert_eq!(outcome.stdout.whole.unwrap(), b"a\xff\xe2\x82\xacb\xe2\x82");
}

fn secrets_reach_neither_disk_nor_live_nor_result() {
    let folder = tempfile::tempdir().unwrap();
    let go = Fifo::new(folder.path(), "go");
    // The second half is written only when the first has been read.
    let script =
        format!("printf 'a hunter'; read line <{go}; printf '22 b\\n'; printf hunter22 >&2");
    let mut leaky = shell(&script);
    leaky.streams = Some(files(folder.path()));
    leaky.whole = true;
    leaky.masks = Masks::new(["hunter22"]).unwrap();
    let mut seen = String::new();
    let mut released = false;
    let outcome = perform_with(leaky, watch::channel(Stop::No).1, |stream, bytes| {
        if stream == Stream::Stdout {
            seen.push_str(std::str::from_utf8(bytes).unwrap());
        }
        if !released {
            released = true;
            go.release();
        }
    });
    let outcome = outcome.unwrap();
    assert_eq!(seen, "a *** b\n");
    assert_eq!(outcome.stdout.tail, "a *** b\n");
    assert_eq!(outcome.stdout.whole.unwrap(), b"a *** b\n");
    assert_eq!(
        fs::read(outcome.stdout.file.unwrap()).unwrap(),
        b"a *** b\n"
    );
    assert_eq!(fs::read(outcome.stderr.file.unwrap()).unwrap(), b"***");
}

fn a_full_disk_does_not_end_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut full = shell("seq 1 100000; echo error >&2; exit 3");
    full.streams = Some(StreamFiles {
        stdout: "/dev/full".into(),
        ..files(folder.path())
    });
    let outcome = perform(full);
    assert_eq!(outcome.ended, Ended::Exited(3));
    assert!(outcome.stdout.tail.ends_with("100000\n"));
    assert!(matches!(outcome.stdout.loss, Some(Loss::Disk { .. })));
    assert_eq!(outcome.stderr.loss, None);
}

fn a_descendant_that_holds_the_output_open_is_not_waited_for() {
    let outcome = perform(shell("sleep 1000 & echo done"));
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert_eq!(outcome.stdout.tail, "done\n");
    assert_eq!(outcome.leftover, 1);
}

// Descendants.

fn descendants_end_with_their_leader() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    let outcome = perform(shell(&stubborn(&fifo)));
    assert_eq!(outcome.ended, Ended::Exited(0));
    // The shell that ignores signals, and its `sleep`.
    assert!(outcome.leftover >= 1);
    held.line();
    held.assert_closed();
}

fn descendants_with_a_cleared_environment_end_too() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    // A daemon as of old: two forks, a session of its own, no environment, no parent.
    let script = format!(
        "(setsid env -i /bin/sh -c 'exec 3>{fifo}; trap \"\" TERM; echo up >{fifo}.go; sleep 1000; :' \
         </dev/null >/dev/null 2>&1 &) ; read line <{fifo}.go"
    );
    assert_eq!(perform(shell(&script)).ended, Ended::Exited(0));
    held.assert_closed();
}

fn a_family_that_keeps_forking_ends() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    // Each generation starts the next in a new session and ends at once.
    let path = folder.path().join("comet");
    fs::write(&path, "#!/bin/sh\nsetsid \"$0\" &\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("exec 3>{fifo}; echo up >&3; {} & sleep 0", path.display());
    assert_eq!(perform(shell(&script)).ended, Ended::Exited(0));
    held.line();
    held.assert_closed();
}

fn a_stop_ends_the_whole_tree_after_the_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    let script = format!(
        "trap '' TERM; {}; while :; do sleep 1000; done",
        stubborn(&fifo)
    );
    let (stop, stopped) = watch::channel(Stop::No);
    let outcome = in_runtime(async {
        let supervisor = Supervisor::new();
        let running = run(&supervisor, shell(&script), stopped, |_, _| {});
        let control = async {
            held.line_async().await;
            stop.send(Stop::Gently).unwrap();
            Instant::now()
        };
        let (outcome, since) = tokio::join!(running, control);
        // KILL comes after the grace period, and not before.
        assert!(since.elapsed() >= GRACE, "{:?}", since.elapsed());
        assert!(
            since.elapsed() < GRACE + Duration::from_secs(1),
            "{:?}",
            since.elapsed()
        );
        outcome.unwrap()
    });
    assert_eq!(outcome.ended, Ended::Stopped);
    held.assert_closed();
}

fn a_launcher_that_dies_at_once_leaves_its_program_the_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let up = Fifo::new(folder.path(), "up");
    let mut started = up.watch();
    // The launcher dies of TERM at once; its program, in the same group, needs a moment to save.
    let saved = folder.path().join("saved");
    let go = Fifo::new(folder.path(), "go");
    let script = format!(
        "sh -c 'trap \"echo term >{up}; read line <{go}; echo done >{}; kill -9 \\$!; exit\" TERM; echo up >{up}; \
         while :; do sleep 1000 & wait; done' & wait",
        saved.display()
    );
    let (stop, stopped) = watch::channel(Stop::No);
    let outcome = in_runtime(async {
        let supervisor = Supervisor::new();
        let running = run(&supervisor, shell(&script), stopped, |_, _| {});
        let control = async {
            started.line_async().await;
            stop.send(Stop::Gently).unwrap();
            started.line_async().await;
            go.release();
        };
        tokio::join!(running, control).0.unwrap()
    });
    assert_eq!(outcome.ended, Ended::Stopped);
    assert_eq!(fs::read_to_string(saved).unwrap(), "done\n");
}

fn a_second_stop_shortens_the_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    // The trap tells that TERM has come, and the process stays.
    let script = format!(
        "exec 3>{fifo}; trap 'echo term >&3' TERM; echo up >&3; while :; do sleep 1000 & wait; done"
    );
    let (stop, stopped) = watch::channel(Stop::No);
    in_runtime(async {
        let supervisor = Supervisor::new();
        let running = run(&supervisor, shell(&script), stopped, |_, _| {});
        let control = async {
            assert_eq!(held.line_async().await, "up");
            stop.send(Stop::Gently).unwrap();
            assert_eq!(held.line_async().await, "term");
            stop.send(Stop::Now).unwrap();
            Instant::now()
        };
        let (outcome, since) = tokio::join!(running, control);
        assert_eq!(outcome.unwrap().ended, Ended::Stopped);
        assert!(since.elapsed() < GRACE / 2, "{:?}", since.elapsed());
    });
    held.assert_closed();
}

fn a_stop_before_the_start_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made");
    let touch = command(&["touch", path.to_str().unwrap()]);
    let outcome = perform_with(touch, watch::channel(Stop::Gently).1, |_, _| {}).unwrap();
    assert_eq!(outcome.ended, Ended::Stopped);
    assert!(!path.exists());
}

fn a_stop_of_one_action_leaves_the_other_alone() {
    let folder = tempfile::tempdir().unwrap();
    let one = Fifo::new(folder.path(), "one");
    let other = Fifo::new(folder.path(), "other");
    let (mut one_held, mut other_held) = (one.watch(), other.watch());
    let (stop, stopped) = watch::channel(Stop::No);
    let end = Fifo::new(folder.path(), "end");
    let one_script = format!("{}; sleep 1000", stubborn(&one));
    let other_script = format!("{}; read line <{end}", stubborn(&other));
    in_runtime(async {
        let supervisor = Supervisor::new();
        let never = watch::channel(Stop::No).1;
        let one = start(&supervisor, shell(&one_script), stopped);
        let other = start(&supervisor, shell(&other_script), never);
        one_held.line_async().await;
        let descendant = other_held.line_async().await;
        stop.send(Stop::Now).unwrap();
        assert_eq!(one.await.unwrap().unwrap().ended, Ended::Stopped);
        one_held.assert_closed();
        kill(Pid::from_raw(descendant.parse().unwrap()), None).unwrap();
        end.release();
        assert_eq!(other.await.unwrap().unwrap().ended, Ended::Exited(0));
    });
    other_held.assert_closed();
}

fn an_action_that_is_dropped_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    in_runtime(async {
        let supervisor = Supervisor::new();
        let script = format!("{}; sleep 1000", stubborn(&fifo));
        let never = watch::channel(Stop::No).1;
        tokio::select! {
            _ = run(&supervisor, shell(&script), never, |_, _| {}) => panic!("it cannot end by itself"),
            _ = held.line_async() => {}
        }
        held.assert_closed_within(Duration::from_secs(4));
    });
}

// Deaths of our own processes.

fn descendants_end_with_a_killed_runner() {
    let mut runner = Runner::start();
    let since = Instant::now();
    runner.child.kill().unwrap();
    runner
        .held
        .assert_closed_within(Duration::from_secs(4).saturating_sub(since.elapsed()));
    // Both the leader and its descendant ignore TERM, so the end can only be the KILL after the grace period.
    assert!(since.elapsed() >= GRACE, "{:?}", since.elapsed());
}

fn descendants_end_with_a_killed_runner_and_supervisor() {
    let mut runner = Runner::start();
    kill(runner.supervisor(), Signal::SIGKILL).unwrap();
    runner.child.kill().unwrap();
    runner.held.assert_closed_within(Duration::from_secs(4));
}

fn descendants_end_with_a_killed_runner_although_the_reaper_hangs() {
    let mut runner = Runner::start();
    kill(children(runner.supervisor())[0], Signal::SIGSTOP).unwrap();
    runner.child.kill().unwrap();
    runner.held.assert_closed_within(Duration::from_secs(4));
}

fn polite_signals_do_not_end_the_watchers() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let go = Fifo::new(folder.path(), "go");
    let mut held = fifo.watch();
    let script = format!("echo up >{fifo}; read line <{go}; exit 4");
    in_runtime(async {
        let supervisor = Supervisor::new();
        let running = start(&supervisor, shell(&script), watch::channel(Stop::No).1);
        held.line_async().await;
        let id = Pid::from_raw(supervisor.id().unwrap().cast_signed());
        for process in children(id).into_iter().chain([id]) {
            for signal in [
                Signal::SIGINT,
                Signal::SIGTERM,
                Signal::SIGHUP,
                Signal::SIGQUIT,
            ] {
                kill(process, signal).unwrap();
            }
        }
        go.release();
        assert_eq!(running.await.unwrap().unwrap().ended, Ended::Exited(4));
    });
}

fn descendants_of_a_killed_reaper_end() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(folder.path(), "held");
    let mut held = fifo.watch();
    let script = format!("{}; sleep 1000", stubborn(&fifo));
    let outcome = in_runtime(async {
        let supervisor = Supervisor::new();
        let never = watch::channel(Stop::No).1;
        let running = run(&supervisor, shell(&script), never, |_, _| {});
        let control = async {
            held.line_async().await;
            let id = Pid::from_raw(supervisor.id().unwrap().cast_signed());
            kill(children(id)[0], Signal::SIGKILL).unwrap();
        };
        tokio::join!(running, control).0
    });
    assert!(matches!(outcome, Err(Fault::Lost)), "{outcome:?}");
    // The supervisor learns of it at the same time as the runner.
    held.assert_closed_within(Duration::from_secs(1));
}

fn a_killed_supervisor_is_replaced() {
    in_runtime(async {
        let supervisor = Supervisor::new();
        let never = watch::channel(Stop::No).1;
        let again = || run(&supervisor, shell("exit 5"), never.clone(), |_, _| {});
        assert_eq!(again().await.unwrap().ended, Ended::Exited(5));
        let id = Pid::from_raw(supervisor.id().unwrap().cast_signed());
        let killed: Vec<Pid> = children(id).into_iter().chain([id]).collect();
        for process in &killed {
            kill(*process, Signal::SIGKILL).unwrap();
        }
        // What is handed to a process in the moment of its death is lost, and reported so.
        while killed.iter().any(|process| is_alive(*process)) {
            tokio::task::yield_now().await;
        }
        assert_eq!(again().await.unwrap().ended, Ended::Exited(5));
        assert_ne!(supervisor.id(), Some(id.as_raw().cast_unsigned()));
    });
}

fn a_sweep_ends_what_nobody_watches() {
    let mut runner = Runner::start();
    // A run of the same name in another project.
    let bystander = Runner::start_as(&runner.run);
    let supervisor = runner.supervisor();
    let mut ours = children(supervisor);
    ours.extend([supervisor, Pid::from_raw(runner.child.id().cast_signed())]);
    // Stopped first, so that none of them can act on the death of another.
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        for process in &ours {
            kill(*process, signal).unwrap();
        }
    }
    let swept = sweep(&runner.run, runner.folder.path()).unwrap();
    assert_eq!(swept.left, 0);
    assert!(swept.killed >= 2, "{swept:?}");
    runner.held.assert_closed();
    kill(bystander.descendant, None).unwrap();
    assert_eq!(sweep(&runner.run, runner.folder.path()).unwrap().killed, 0);
}

// Limits.

fn silence_beyond_the_limit_ends_the_action() {
    // The clock is paused, and leaps as soon as there is nothing but the limit to wait for.
    let mut silent = shell("printf 'no line'; sleep 1000");
    silent.idle = Some(Duration::from_secs(600));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let supervisor = Supervisor::new();
    let never = watch::channel(Stop::No).1;
    let outcome = runtime
        .block_on(run(&supervisor, silent, never, |_, _| {}))
        .unwrap();
    assert_eq!(outcome.ended, Ended::Idle);
}

fn a_line_renews_the_limit_of_silence() {
    let folder = tempfile::tempdir().unwrap();
    let go = Fifo::new(folder.path(), "go");
    let script = format!("echo one; exec 3<{go}; read line <&3; echo two; read line <&3; exit 7");
    let mut talking = shell(&script);
    talking.idle = Some(Duration::from_secs(10));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (lines, mut seen) = mpsc::unbounded_channel();
    let outcome = runtime.block_on(async {
        // A thread at work keeps the paused clock from leaping by itself.
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        let holding = tokio::task::spawn_blocking(move || finished.recv());
        let supervisor = Supervisor::new();
        let never = watch::channel(Stop::No).1;
        let running = run(&supervisor, talking, never, |_, _| lines.send(()).unwrap());
        let control = async {
            for _ in 0..2 {
                seen.recv().await.unwrap();
                tokio::time::advance(Duration::from_secs(9)).await;
                go.release();
            }
        };
        let (outcome, ()) = tokio::join!(running, control);
        drop(finish);
        let _ = holding.await;
        outcome.unwrap()
    });
    assert_eq!(outcome.ended, Ended::Exited(7));
}

fn a_flood_of_lines_ends_the_action() {
    let mut flood = command(&["yes"]);
    flood.bounds = Bounds {
        lines: Some(1000),
        line: None,
    };
    assert_eq!(perform(flood).ended, Ended::Flooded(Flood::Lines(1000)));
}

fn a_line_without_end_ends_the_action() {
    let mut flood = shell("tr '\\0' x </dev/zero");
    flood.bounds = Bounds {
        lines: None,
        line: Some(1_000_000),
    };
    assert_eq!(perform(flood).ended, Ended::Flooded(Flood::Line(1_000_000)));
}

fn two_hundred_actions_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let go = Fifo::new(folder.path(), "go");
    let mut started = go.watch();
    // All are there before the first may end, so they do run at the same time.
    let script = |number: u32| {
        format!(
            "echo {number} >{go}; read line <{}/{number}; exit {}",
            folder.path().display(),
            number % 7
        )
    };
    let gates: Vec<Fifo> = (0..200)
        .map(|number: u32| Fifo::new(folder.path(), &number.to_string()))
        .collect();
    in_runtime(async {
        let supervisor = Supervisor::new();
        let mut running = Vec::new();
        for number in 0..200_u32 {
            let never = watch::channel(Stop::No).1;
            running.push(start(&supervisor, shell(&script(number)), never));
        }
        for _ in 0..200 {
            started.line_async().await;
        }
        for gate in &gates {
            gate.release();
        }
        for (number, running) in (0..).zip(running) {
            let outcome = running.await.unwrap().unwrap();
            assert_eq!(outcome.ended, Ended::Exited(number % 7));
        }
    });
}

fn the_last_output_is_there_however_soon_the_action_ends() {
    in_runtime(async {
        let supervisor = Supervisor::new();
        for number in 0..100 {
            let never = watch::channel(Stop::No).1;
            let echo = command(&["echo", &number.to_string()]);
            let outcome = run(&supervisor, echo, never, |_, _| {});
            tokio::pin!(outcome);
            // Started, and then the runner has other things to do until the action is over.
            let first =
                std::future::poll_fn(|context| Poll::Ready(outcome.as_mut().poll(context))).await;
            let outcome = match first {
                Poll::Ready(outcome) => outcome,
                Poll::Pending => {
                    for _ in 0..3 {
                        std::process::Command::new("true").status().unwrap();
                    }
                    outcome.await
                }
            };
            let outcome = outcome.unwrap();
            assert_eq!(outcome.stdout.tail, format!("{number}\n"));
        }
    });
}

fn closing_leaves_no_process() {
    in_runtime(async {
        let supervisor = Supervisor::new();
        let never = watch::channel(Stop::No).1;
        run(&supervisor, shell("true"), never, |_, _| {})
            .await
            .unwrap();
        let id = supervisor.id().unwrap();
        supervisor.close().await;
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    });
}

// What the cases are made of.

fn command(argv: &[&str]) -> Command {
    Command {
        argv: argv.iter().map(ToString::to_string).collect(),
        stdin: None,
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
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

fn shell(script: &str) -> Command {
    command(&["/bin/sh", "-c", script])
}

fn files(folder: &Path) -> StreamFiles {
    StreamFiles {
        stdout: folder.join("stdout"),
        stderr: folder.join("stderr"),
    }
}

fn in_runtime<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, future)
            .await
            .expect("it ends in time")
    })
}

fn perform(command: Command) -> CommandOutcome {
    perform_with(command, watch::channel(Stop::No).1, |_, _| {}).unwrap()
}

fn perform_with(
    command: Command,
    stop: watch::Receiver<Stop>,
    live: impl FnMut(Stream, &[u8]),
) -> Result<CommandOutcome, Fault> {
    let supervisor = Supervisor::new();
    in_runtime(run(&supervisor, command, stop, live))
}

/// Shell text that starts a descendant in a session of its own which ignores every polite signal, and goes on
/// when the descendant is up. It writes its process id to the FIFO and holds the FIFO open for as long as it lives.
fn stubborn(fifo: &Fifo) -> String {
    format!(
        "setsid sh -c 'trap \"\" TERM HUP INT; exec 3>{fifo}; echo $$ >&3; echo up >{fifo}.up; \
         while :; do sleep 1000; done' </dev/null >/dev/null 2>&1 & read line <{fifo}.up"
    )
}

/// Starts a command without waiting for it.
fn start(
    supervisor: &Supervisor,
    command: Command,
    stop: watch::Receiver<Stop>,
) -> JoinHandle<Result<CommandOutcome, Fault>> {
    let supervisor = supervisor.clone();
    tokio::spawn(async move { run(&supervisor, command, stop, |_, _| {}).await })
}

/// Returns the direct children of a process.
fn children(process: Pid) -> Vec<Pid> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    list.split_whitespace()
        .map(|child| Pid::from_raw(child.parse().unwrap()))
        .collect()
}

/// Tells whether a process runs, or could.
fn is_alive(process: Pid) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A named pipe, shown as its path. Two more beside it are for the scripts' own use.
struct Fifo {
    path: PathBuf,
    /// Open for both directions, so that writing waits for nobody.
    both: OnceCell<File>,
}

impl Fifo {
    fn new(folder: &Path, name: &str) -> Fifo {
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        for name in [name.to_owned(), format!("{name}.up"), format!("{name}.go")] {
            mkfifo(&folder.join(name), mode).unwrap();
        }
        Fifo {
            path: folder.join(name),
            both: OnceCell::new(),
        }
    }

    /// Opens the end that is read, before anybody writes.
    fn watch(&self) -> Held {
        Held::open(&self.path)
    }

    /// Lets one process go on that reads a line, now or later.
    fn release(&self) {
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(&self.path)
                .unwrap()
        };
        self.both.get_or_init(open).write_all(b"go\n").unwrap();
    }
}

impl fmt::Display for Fifo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(formatter)
    }
}

/// The end of a FIFO that is read: it tells what its holders write, and when the last of them is gone.
struct Held {
    reader: File,
    /// Keeps the FIFO from being at its end before the first holder comes.
    writer: Option<File>,
    text: Vec<u8>,
}

impl Held {
    fn open(path: &Path) -> Held {
        let flags = OFlag::O_NONBLOCK.bits();
        let reader = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)
            .unwrap();
        let writer = OpenOptions::new().write(true).open(path).unwrap();
        Held {
            reader,
            writer: Some(writer),
            text: Vec::new(),
        }
    }

    /// Waits for a line, letting the runtime go on.
    async fn line_async(&mut self) -> String {
        loop {
            if let Some(line) = self.try_line() {
                return line;
            }
            let reader = self.reader.try_clone().unwrap();
            pipe::Receiver::from_file_unchecked(reader)
                .unwrap()
                .readable()
                .await
                .unwrap();
        }
    }

    /// Waits for a line.
    fn line(&mut self) -> String {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.try_line() {
                return line;
            }
            assert!(self.wait(give_up), "no line came");
        }
    }

    fn try_line(&mut self) -> Option<String> {
        let _ = self.reader.read_to_end(&mut self.text);
        let end = self.text.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.text.drain(..=end).collect();
        Some(String::from_utf8(line).unwrap().trim_end().to_owned())
    }

    /// Asserts that all who held the FIFO open are gone.
    ///
    /// A process that another test is just starting holds all of this program's files until it executes its own.
    fn assert_closed(&mut self) {
        self.assert_closed_within(Duration::from_millis(500));
    }

    fn assert_closed_within(&mut self, time: Duration) {
        let give_up = Instant::now() + time;
        self.writer = None;
        loop {
            match self.reader.read(&mut [0; 4096]) {
                Ok(0) => return,
                Ok(_) => {}
                Err(_) => assert!(self.wait(give_up), "a process is still alive"),
            }
        }
    }

    /// Waits for something to read or for the end. Returns whether it came in time.
    fn wait(&self, give_up: Instant) -> bool {
        let left = give_up.saturating_duration_since(Instant::now());
        let mut watched = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
        let left_ms = i32::try_from(left.as_millis()).unwrap();
        poll(&mut watched, PollTimeout::try_from(left_ms).unwrap()).unwrap() > 0
    }
}

/// A process that performs an action, to be killed: its leader and a descendant ignore TERM.
struct Runner {
    child: Child,
    run: String,
    descendant: Pid,
    held: Held,
    folder: tempfile::TempDir,
}

impl Runner {
    fn start() -> Runner {
        Runner::start_as(&format!("run-{}", std::process::id()))
    }

    fn start_as(run: &str) -> Runner {
        let folder = tempfile::tempdir().unwrap();
        let fifo = Fifo::new(folder.path(), "held");
        let mut held = fifo.watch();
        let child = std::process::Command::new("/proc/self/exe")
            .args([RUNNER_ARGUMENT, run])
            .arg(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let descendant = Pid::from_raw(held.line().parse().unwrap());
        Runner {
            child,
            run: run.to_owned(),
            descendant,
            held,
            folder,
        }
    }

    fn supervisor(&self) -> Pid {
        children(Pid::from_raw(self.child.id().cast_signed()))[0]
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// Performs the action of a [`Runner`] until it is killed.
pub fn be_a_runner() -> ! {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let fifo = Fifo {
        path: Path::new(&arguments[3]).join("held"),
        both: OnceCell::new(),
    };
    let script = format!(
        "trap '' TERM; {}; while :; do sleep 1000; done",
        stubborn(&fifo)
    );
    let mut command = shell(&script);
    command.marker = format!("{}/task/1/attempt", arguments[2].to_str().unwrap());
    let folder = (CHECKPOINT_VARIABLE.into(), arguments[3].clone());
    command.environment.push(folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let never = watch::channel(Stop::No).1;
        let outcome = run(&Supervisor::new(), command, never, |_, _| {}).await;
        panic!("it cannot end by itself: {outcome:?}")
    })
}
