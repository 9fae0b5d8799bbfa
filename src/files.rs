//! The files of a project: where it is, what belongs to it, and reading and writing nothing outside it.

use crate::exit::{Exit, Failure};
use outpost_compiler::load::{LoadError, Loader};
use outpost_grammar::source::MAX_SOURCE_BYTES;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The ending of workflow files.
pub const EXTENSION: &str = "outpost";

/// The folder of a project in which its runs are kept.
pub const STATE_FOLDER: &str = ".outpost";

/// How deep the search for files goes.
const MAX_DEPTH: usize = 64;

/// Folders that hold what others wrote, passed over where Git does not say what belongs to the project.
const FOREIGN_FOLDERS: [&str; 2] = ["node_modules", "target"];

/// A project: the nearest ancestor that holds `.outpost` or `.git`, else the folder itself.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its folder, without symbolic links.
    pub root: PathBuf,
}

impl Project {
    /// The project of a folder.
    pub fn of_folder(folder: &Path) -> io::Result<Project> {
        let folder = fs::canonicalize(folder)?;
        let marked =
            |folder: &&Path| folder.join(STATE_FOLDER).is_dir() || folder.join(".git").exists();
        let root = folder.ancestors().find(marked).unwrap_or(&folder);
        Ok(Project {
            root: root.to_owned(),
        })
    }

    /// The project of the current folder.
    pub fn current() -> Result<Project, Failure> {
        let here = Path::new(".");
        Project::of_folder(here).map_err(|error| unreadable(here, &error))
    }

    /// The project of a file.
    pub fn of_file(file: &Path) -> io::Result<Project> {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            Some(_) | None => Path::new("."),
        };
        Project::of_folder(folder)
    }

    /// The name of a file in this project: relative to the root, with `/`; `None` if it is outside or not UTF-8.
    pub fn name_of(&self, file: &Path) -> Option<String> {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            Some(_) | None => Path::new("."),
        };
        // The file itself may be a link: it keeps the name that the user knows, and is looked at when it is read.
        let path = fs::canonicalize(folder).ok()?.join(file.file_name()?);
        slashed(path.strip_prefix(&self.root).ok()?)
    }

    /// The path of a name, with links followed; refused if it leaves the project.
    pub fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let path = fs::canonicalize(self.root.join(name))?;
        match path.starts_with(&self.root) {
            true => Ok(path),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is outside the project",
            )),
        }
    }

    /// Puts another text in the place of a file's, all of it or nothing; its permissions stay.
    pub fn rewrite(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.path_of(name)?;
        let permissions = fs::metadata(&path)?.permissions();
        // Renaming would not ask.
        if permissions.readonly() {
            let message = "it is read-only";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let mut beside = OsString::from(".");
        beside.push(path.file_name().unwrap_or_default());
        beside.push(format!(".{}.tmp", std::process::id()));
        let beside = path.with_file_name(beside);
        let written = File::create_new(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(permissions)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        });
        written.inspect_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                // What matters is why it could not be written.
                let _ = fs::remove_file(&beside);
            }
        })
    }

    /// The folder of the runs.
    pub fn runs(&self) -> PathBuf {
        self.root.join(STATE_FOLDER).join("runs")
    }

    /// Every workflow file under a folder of the project that Git does not ignore, by path.
    pub fn workflow_files(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut files = match listed_by_git(folder) {
            Some(files) => files,
            None => {
                let mut files = Vec::new();
                walk(folder, MAX_DEPTH, &mut files)?;
                files
            }
        };
        files.sort();
        files.dedup();
        Ok(files)
    }
}

impl Loader for Project {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => LoadError::Missing,
            _ => LoadError::Other(error.to_string()),
        };
        let path = self.path_of(path).map_err(refuse)?;
        let metadata = fs::metadata(&path).map_err(refuse)?;
        if !metadata.is_file() {
            return Err(LoadError::Other("it is not a file".into()));
        }
        if metadata.len() > MAX_SOURCE_BYTES as u64 {
            return Err(LoadError::TooLarge);
        }
        let bytes = fs::read(&path).map_err(refuse)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(error) => Err(LoadError::NotText(error.utf8_error().valid_up_to())),
        }
    }
}

/// The files that were asked for, or all of the project; every path that is not there is told at once.
pub fn asked(paths: &[PathBuf]) -> Result<Vec<(Project, PathBuf)>, Failure> {
    if paths.is_empty() {
        let project = Project::current()?;
        let files = project
            .workflow_files(&project.root)
            .map_err(|error| unreadable(&project.root, &error))?;
        return Ok(files
            .into_iter()
            .map(|file| (project.clone(), file))
            .collect());
    }
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let found = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Project::of_folder(path).and_then(|project| {
                let files = project.workflow_files(path)?;
                Ok(files
                    .into_iter()
                    .map(|file| (project.clone(), file))
                    .collect())
            }),
            Ok(_) => Project::of_file(path).map(|project| vec![(project, path.clone())]),
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => files.extend(found),
            Err(error) => problems.push(unreadable(path, &error)),
        }
    }
    Failure::of_all(problems, "paths cannot be read")?;
    Ok(files)
}

/// The name of a file in its project.
pub fn name(project: &Project, file: &Path) -> Result<String, Failure> {
    let name = project.name_of(file);
    name.ok_or_else(|| Failure::usage(format!("the path `{}` is not UTF-8", file.display())))
}

/// Puts another text in the place of a file's.
pub fn rewrite(project: &Project, name: &str, text: &str) -> Result<(), Failure> {
    project.rewrite(name, text).map_err(|error| {
        let why = match error.get_ref() {
            Some(reason) => reason.to_string(),
            None => io_words(&error),
        };
        Failure::new(Exit::Failed, format!("cannot write `{name}`: {why}"))
    })
}

/// A path that cannot be read is wrong usage.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let why = io_words(error);
    Failure::usage(format!("cannot read `{}`: {why}", path.display()))
}

/// Why a file cannot be used, without the number that the system has for it.
pub fn io_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not permitted".to_owned(),
        _ => error.to_string(),
    }
}

/// What Git tracks or does not ignore; `None` if Git is not there or the folder is in no repository.
fn listed_by_git(folder: &Path) -> Option<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;

    let output = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard", "-z", "--"])
        .arg(format!(":(glob)**/*.{EXTENSION}"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let names = output.stdout.split(|byte| *byte == 0);
    let files = names
        .filter(|name| !name.is_empty())
        .map(|name| folder.join(std::ffi::OsStr::from_bytes(name)))
        // A file that was deleted is still in the index.
        .filter(|path| path.is_file());
    Some(files.collect())
}

/// Looks through folders that are neither hidden nor foreign; links to folders are not followed.
fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            let hidden = name.starts_with('.') || FOREIGN_FOLDERS.contains(&&*name);
            if !hidden {
                walk(&path, depth - 1, files)?;
            }
        } else if path.extension().is_some_and(|end| end == EXTENSION) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// A relative path with `/` between its parts; `None` if it is not plain or not UTF-8.
fn slashed(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn names(project: &Project, folder: &Path) -> Vec<String> {
        let files = project.workflow_files(folder).unwrap();
        files
            .iter()
            .map(|file| project.name_of(file).unwrap())
            .collect()
    }

    #[test]
    fn the_root_is_the_nearest_marked_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        touch(&root, "a/b/x.outpost");
        fs::create_dir(root.join(".git")).unwrap();
        let file = root.join("a/b/x.outpost");
        assert_eq!(Project::of_file(&file).unwrap().root, root);
        fs::create_dir(root.join("a/.outpost")).unwrap();
        let project = Project::of_file(&file).unwrap();
        assert_eq!(project.root, root.join("a"));
        assert_eq!(project.name_of(&file).unwrap(), "b/x.outpost");
        assert_eq!(project.name_of(&root.join("y.outpost")), None);
    }

    #[test]
    fn a_link_that_leaves_the_project_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        touch(&root, "outside.outpost");
        touch(&root, "in/inside.outpost");
        fs::create_dir(root.join("in/.git")).unwrap();
        std::os::unix::fs::symlink("../outside.outpost", root.join("in/link.outpost")).unwrap();
        std::os::unix::fs::symlink("inside.outpost", root.join("in/fine.outpost")).unwrap();
        let project = Project::of_folder(&root.join("in")).unwrap();
        assert!(project.path_of("fine.outpost").is_ok());
        let refused = project.path_of("link.outpost").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(project.path_of("../outside.outpost").is_err());
    }

    #[test]
    fn a_text_is_replaced_through_links_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        touch(&root, "a/x.outpost");
        let file = root.join("a/x.outpost");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("a/x.outpost", root.join("link.outpost")).unwrap();
        let project = Project { root: root.clone() };
        project.rewrite("link.outpost", "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(root.join("a")).unwrap().count(), 1);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(project.rewrite("link.outpost", "newer").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn files_are_found_with_git_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["b.outpost", "a/c.outpost", "ignored/d.outpost", "a/e.txt"] {
            touch(&root, name);
        }
        touch(&root, "node_modules/f.outpost");
        touch(&root, ".hidden/g.outpost");
        let project = Project { root: root.clone() };
        assert_eq!(
            names(&project, &root),
            ["a/c.outpost", "b.outpost", "ignored/d.outpost"]
        );

        fs::write(root.join(".gitignore"), "ignored/\nnode_modules/\n").unwrap();
        let git = Command::new("git")
            .args(["init", "-q"])
            .current_dir(&root)
            .status();
        assert!(git.unwrap().success());
        assert_eq!(
            names(&project, &root),
            [".hidden/g.outpost", "a/c.outpost", "b.outpost"]
        );
        assert_eq!(names(&project, &root.join("a")), ["a/c.outpost"]);
    }
}
