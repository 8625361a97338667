//! Whether two suggestions that are close in meaning may be taken for the same (XC-31, R-38). Pure.
//!
//! Vectors do not tell `9000` from `900`, `likes` from `dislikes`, Bob from Eve, or who owes whom. Whatever differs in a
//! number, a negation, a name, the order of its words or one word for another is another suggestion, however close. In
//! doubt it is another one: a suggestion too many can be rejected, a fact that was swallowed is lost.

/// From this cosine on, two suggestions in one scope and category are close (XC-31).
pub const CLOSE: f64 = 0.92;

/// Words that turn what is said into its opposite, or away from it, in folded letters.
const NEGATIONS: &[&str] = &[
    "no", "not", "non", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without",
    "cannot", "stop", "stopped", "avoid", "avoids", "except", "hardly", "nicht", "kein", "keine", "keinen",
    "nie", "niemals", "ohne", "ne", "pas", "jamais", "sans", "aucun", "nunca", "sin", "ningún", "mai",
    "senza", "não", "sem", "не", "нет", "on", "off", "true", "false", "yes", "before", "after", "more",
    "less", "always", "only", "left", "right", "up", "down",
];

/// Beginnings that turn a word into its opposite.
const OPPOSITES: &[&str] = &["un", "dis", "non", "in", "im", "ir", "il", "anti", "de", "mis"];

/// Words that may be there or not without making it another fact.
const FILLERS: &[&str] = &[
    "a", "an", "the", "really", "very", "quite", "just", "also", "please", "actually", "der", "die", "das",
    "ein", "eine", "einen", "dem", "den", "sehr", "auch", "le", "la", "les", "un", "une", "très", "el",
    "los", "las", "una", "muy", "il", "lo", "gli", "molto", "o", "os", "as", "um", "uma", "muito",
];

/// From so many letters on, two words that begin alike are taken for forms of one.
const STEM_LETTERS: usize = 4;

/// Whether two texts differ in nothing that makes them two facts.
pub fn may_be_same(one: &str, other: &str) -> bool {
    let (one, other) = (Words::of(one), Words::of(other));
    if one == other {
        return true;
    }
    // Where words are not separated, or letters have no case, names cannot be made out.
    let is_legible = |words: &Words| words.is_legible;
    is_legible(&one)
        && is_legible(&other)
        && one.numbers == other.numbers
        && one.negations == other.negations
        && one.names == other.names
        && !one.opposes(&other)
        && !other.opposes(&one)
        && one.shared(&other) == other.shared(&one)
        && !one.puts_another_word_for(&other)
}

#[derive(Debug, PartialEq, Eq)]
struct Words {
    all: Vec<String>,
    numbers: Vec<String>,
    negations: Vec<String>,
    names: Vec<String>,
    is_legible: bool,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self {
            all: Vec::new(),
            numbers: Vec::new(),
            negations: Vec::new(),
            names: Vec::new(),
            is_legible: true,
        };
        // A sign that is no letter, digit or mark between words may be one that matters: C++, v1.2, -5.
        let separate =
            |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '!' | '?' | '"' | '(' | ')' | '“' | '”');
        for word in text.split(separate) {
            let word = word.trim_matches(['.', ':', '\'', '’']);
            if !word.is_empty() {
                words.add(word);
            }
        }
        words
    }

    fn add(&mut self, word: &str) {
        let folded = word.to_lowercase();
        if word.chars().any(|c| !c.is_alphabetic() && c != '\'' && c != '’' && c != '-') {
            self.numbers.push(folded.clone());
        }
        let is_short_no = folded.ends_with("n't") || folded.ends_with("n’t");
        if is_short_no || NEGATIONS.contains(&folded.as_str()) {
            self.negations.push(if is_short_no { "not".to_owned() } else { folded.clone() });
        }
        if word.chars().any(char::is_uppercase) {
            self.names.push(folded.clone());
        }
        self.is_legible &=
            word.chars().filter(|c| c.is_alphabetic()).all(|c| c.is_lowercase() || c.is_uppercase());
        self.all.push(folded);
    }

    /// The words that both have, in the order they have here: `cats over dogs` is not `dogs over cats`.
    fn shared(&self, other: &Self) -> Vec<&String> {
        self.telling().filter(|word| other.all.contains(word)).collect()
    }

    /// Whether the texts differ in one word each, and these are not forms of one: `every week`, `every month`.
    fn puts_another_word_for(&self, other: &Self) -> bool {
        let mut own = self.telling().filter(|word| !other.all.contains(word));
        let mut others = other.telling().filter(|word| !self.all.contains(word));
        match (own.next(), own.next(), others.next(), others.next()) {
            (Some(word), None, Some(there), None) => {
                word.chars().zip(there.chars()).take_while(|(a, b)| a == b).count() < STEM_LETTERS
            }
            _ => false,
        }
    }

    fn telling(&self) -> impl Iterator<Item = &String> {
        self.all.iter().filter(|word| !FILLERS.contains(&word.as_str()))
    }

    /// Whether a word here is the opposite of a word there: `dislikes` and `likes`.
    fn opposes(&self, other: &Self) -> bool {
        let is_opposite = |word: &String| {
            let rest = OPPOSITES.iter().filter_map(|start| word.strip_prefix(start));
            let is_there = |rest: &str| {
                other.all.iter().any(|there| there == rest || there.strip_prefix("en") == Some(rest))
            };
            rest.filter(|rest| rest.len() > 2).any(is_there)
        };
        self.all.iter().filter(|word| !other.all.contains(word)).any(is_opposite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_a_negation_or_a_name_apart_is_another_suggestion_r38() {
        let pairs = [
            ("the rent is 900", "the rent is 9000"),
            ("deadline is October 15th", "deadline is October 16th"),
            ("the router is at 192.168.7.1", "the router is at 192.168.9.1"),
            ("uses v1.2 of the tool", "uses v1.3 of the tool"),
            ("writes C++ for fun", "writes C# for fun"),
            ("drinks coffee in the morning", "drinks no coffee in the morning"),
            ("likes dark mode", "dislikes dark mode"),
            ("does like dark mode", "doesn't like dark mode"),
            ("wants tests enabled", "wants tests disabled"),
            ("is comfortable with Rust", "is uncomfortable with Rust"),
            ("works with Bob on the API", "works with Eve on the API"),
            ("Alice prefers tea", "Bob prefers tea"),
            ("trägt keine Brille", "trägt eine Brille"),
            ("回复请中文优先", "回复请英文优先"),
            ("temperature must be -5", "temperature must be 5"),
            ("works from home on monday", "works from home on tuesday"),
            ("Alice manages Bob", "Bob manages Alice"),
            ("Moved from Paris to Rome", "Moved from Rome to Paris"),
            ("bob pays alice back", "alice pays bob back"),
            ("owes bob money", "is owed money by bob"),
            ("prefers cats over dogs", "prefers dogs over cats"),
            ("the cheap plan is enough", "the expensive plan is enough"),
            ("rotates the keys every month", "rotates the keys every week"),
            ("two weeks before the launch", "two months before the launch"),
        ];
        for (one, other) in pairs {
            assert!(!may_be_same(one, other) && !may_be_same(other, one), "{one} | {other}");
        }
    }

    #[test]
    fn other_words_for_the_same_may_be_the_same() {
        let pairs = [
            ("The user prefers dark mode.", "The user really prefers a dark mode!"),
            ("prefers short answers", "would rather have short answers"),
            ("回复请中文优先", "回复请中文优先"),
        ];
        for (one, other) in pairs {
            assert!(may_be_same(one, other), "{one} | {other}");
        }
    }
}
