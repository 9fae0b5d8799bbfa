//! Near misses of names.

/// How many names of about the right length are compared: with as many unknown names as known ones, all would take hours.
const MAX_COMPARED: usize = 500;

/// A known name that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    /// The name.
    pub name: String,
    /// Whether no other name is near: then it may be written without asking.
    pub only: bool,
}

impl Near {
    /// A name that was certainly meant.
    pub(crate) fn certain(name: &str) -> Near {
        Near {
            name: name.to_owned(),
            only: true,
        }
    }
}

/// The known name that was probably meant, if one is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<Near> {
    let length = name.chars().count();
    let allowed = (length / 3).max(1);
    let lower = name.to_lowercase();
    let mut left = MAX_COMPARED;
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|other| *other != name && other.len().abs_diff(name.len()) <= allowed + 2)
        .take(MAX_COMPARED)
        .inspect(|_| left -= 1)
        .map(|other| {
            let distance = strsim::osa_distance(&lower, &other.to_lowercase());
            (distance, other)
        })
        .filter(|(distance, other)| {
            let prefix = other.starts_with(name) && length >= 3 && other.len() - name.len() <= 4;
            *distance <= allowed && (length > 1 || *distance == 0) || prefix
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.dedup_by_key(|(_, other)| *other);
    let (_, first) = near.first()?;
    Some(Near {
        name: (*first).to_owned(),
        // Where not all were looked at, another may be as near.
        only: near.len() == 1 && left > 0,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let nearest = |name, known: &[&'static str]| {
            super::nearest(name, known.iter().copied()).map(|near| (near.name, near.only))
        };
        let only = |name: &str| Some((name.to_owned(), true));
        assert_eq!(nearest("biuld", &["build", "unit"]), only("build"));
        assert_eq!(nearest("codr", &["coder"]), only("coder"));
        assert_eq!(nearest("zebra", &["build", "other"]), None);
        assert_eq!(nearest("fix-test", &["fix-tests"]), only("fix-tests"));
        assert_eq!(nearest("Sring", &["string"]), only("string"));
        assert_eq!(nearest("x", &["y", "z"]), None);
        let first = Some(("lint".to_owned(), false));
        assert_eq!(nearest("lnit", &["lint", "unit"]), first);
    }
}
