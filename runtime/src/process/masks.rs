//! Secret values, and their removal from a stream of bytes.

use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

/// What stands in the place of a secret value.
pub const MASK: &str = "***";

/// The secret values that may appear in an action's output.
#[derive(Clone, Default)]
pub struct Masks {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    values: Vec<Vec<u8>>,
    longest: usize,
    search: AhoCorasick,
}

/// One stream being masked: what might be the beginning of a value is held back until it is known.
pub(super) struct Masker {
    masks: Masks,
    held: Vec<u8>,
    /// The first bytes of `held` belong to a value whose mask has been given out already.
    covered: usize,
}

impl Masks {
    /// Takes the values; empty ones are left out.
    ///
    /// # Errors
    /// If the values are too many or too long to be searched for together.
    pub fn new<V: Into<Vec<u8>>>(
        values: impl IntoIterator<Item = V>,
    ) -> Result<Masks, aho_corasick::BuildError> {
        let mut values: Vec<Vec<u8>> = values.into_iter().map(Into::into).collect();
        values.retain(|value| !value.is_empty());
        let Some(longest) = values.iter().map(Vec::len).max() else {
            return Ok(Masks::default());
        };
        let search = AhoCorasick::new(&values)?;
        Ok(Masks {
            shared: Some(Arc::new(Shared {
                values,
                longest,
                search,
            })),
        })
    }

    /// Masks a whole text.
    pub fn mask(&self, text: &[u8]) -> Vec<u8> {
        let mut masker = Masker::new(self.clone());
        let mut masked = Vec::with_capacity(text.len());
        masker.push(text, &mut masked);
        masker.finish(&mut masked);
        masked
    }
}

/// Says how many values there are, and never what they are.
impl fmt::Debug for Masks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.shared.as_ref().map_or(0, |shared| shared.values.len());
        write!(formatter, "Masks({count})")
    }
}

impl Masker {
    pub fn new(masks: Masks) -> Masker {
        Masker {
            masks,
            held: Vec::new(),
            covered: 0,
        }
    }

    /// Takes the next bytes and adds what is safe to show.
    pub fn push(&mut self, bytes: &[u8], shown: &mut Vec<u8>) {
        let Some(shared) = self.masks.shared.clone() else {
            shown.extend_from_slice(bytes);
            return;
        };
        self.held.extend_from_slice(bytes);
        let cut = shared.open_from(&self.held);
        self.release(&shared, cut, shown);
    }

    /// Adds what was held back, at the end of the stream.
    pub fn finish(&mut self, shown: &mut Vec<u8>) {
        if let Some(shared) = self.masks.shared.clone() {
            self.release(&shared, self.held.len(), shown);
        }
    }

    /// Gives out the bytes before the cut. Values that overlap become one mask.
    fn release(&mut self, shared: &Shared, cut: usize, shown: &mut Vec<u8>) {
        let mut found: Vec<(usize, usize)> = shared
            .search
            .find_overlapping_iter(&self.held)
            .map(|found| (found.start(), found.end()))
            .collect();
        found.sort_unstable();
        let mut done = self.covered;
        for (start, end) in found {
            if start < done {
                done = done.max(end);
            } else if start < cut {
                shown.extend_from_slice(&self.held[done..start]);
                shown.extend_from_slice(MASK.as_bytes());
                done = end;
            } else {
                // It lies wholly in what is held back, and is found again.
                break;
            }
        }
        if done < cut {
            shown.extend_from_slice(&self.held[done..cut]);
            done = cut;
        }
        self.held.drain(..cut);
        self.covered = done - cut;
    }
}

impl Shared {
    /// Returns where the first value begins that the end of the bytes cuts off.
    fn open_from(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(self.longest - 1);
        (from..bytes.len())
            .find(|start| {
                let rest = &bytes[*start..];
                self.values
                    .iter()
                    .any(|value| value.len() > rest.len() && value.starts_with(rest))
            })
            .unwrap_or(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks the text cut into pieces of every size: all must agree with the whole.
    fn masked(values: &[&str], text: &str) -> String {
        let masks = Masks::new(values.iter().copied()).expect("few values");
        let whole = masks.mask(text.as_bytes());
        for size in 1..=text.len() {
            let mut masker = Masker::new(masks.clone());
            let mut shown = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                masker.push(piece, &mut shown);
            }
            masker.finish(&mut shown);
            assert_eq!(shown, whole, "pieces of {size}");
        }
        String::from_utf8(whole).expect("it was text")
    }

    #[test]
    fn values_are_replaced_wherever_the_stream_is_cut() {
        assert_eq!(
            masked(&["hunter22"], "a hunter22 b hunter2 hunter22"),
            "a *** b hunter2 ***"
        );
    }

    #[test]
    fn the_longer_of_two_values_leaves_no_rest() {
        assert_eq!(
            masked(&["secret", "secretive"], "secretive secret secretiv"),
            "*** *** ***iv"
        );
    }

    #[test]
    fn overlapping_values_become_one_mask() {
        assert_eq!(masked(&["abcdef", "defghi"], "xabcdefghiy"), "x***y");
        assert_eq!(masked(&["aaaa"], "aaaaaaaaab"), "***b");
        assert_eq!(masked(&["abcxyz", "bc"], "abcxy abcxyz"), "a***xy ***");
    }

    #[test]
    fn a_value_that_is_only_begun_is_shown_at_the_end() {
        assert_eq!(masked(&["password"], "passwor"), "passwor");
    }

    #[test]
    fn without_values_nothing_is_held_back() {
        let mut masker = Masker::new(Masks::new([""]).expect("few values"));
        let mut shown = Vec::new();
        masker.push(b"abc", &mut shown);
        assert_eq!(shown, b"abc");
    }

    #[test]
    fn values_are_not_shown_by_debug() {
        assert_eq!(
            format!("{:?}", Masks::new(["hunter22"]).expect("few values")),
            "Masks(1)"
        );
    }
}
