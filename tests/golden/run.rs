use libtest_mimic::Failed;
use std::path::{Path, PathBuf};
pub fn find(_: &Path) -> Vec<PathBuf> {
    Vec::new()
}
pub fn test(_: &Path) -> Result<(), Failed> {
    Ok(())
}
