//! Near misses of names.

/// How many names of about the right length are compared: with as many unknown names as known ones, all would take hours.
const MAX_COMPARED: usize = 500;

/// The known name that was probably meant, if one is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let allowed = (length / 3).max(1);
    let lower = name.to_lowercase();
    known
        .into_iter()
        .filter(|other| *other != name && other.len().abs_diff(name.len()) <= allowed + 2)
        .take(MAX_COMPARED)
        .map(|other| (strsim::osa_distance(&lower, &other.to_lowercase()), other))
        .filter(|(distance, other)| {
            let prefix = other.starts_with(name) && length >= 3 && other.len() - name.len() <= 4;
            *distance <= allowed && (length > 1 || *distance == 0) || prefix
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("biuld", ["build", "unit"]), Some("build"));
        assert_eq!(nearest("codr", ["coder"]), Some("coder"));
        assert_eq!(nearest("zebra", ["build", "other"]), None);
        assert_eq!(nearest("fix-test", ["fix-tests"]), Some("fix-tests"));
        assert_eq!(nearest("Sring", ["string"]), Some("string"));
        assert_eq!(nearest("x", ["y", "z"]), None);
    }
}
