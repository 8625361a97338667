//! Cuts a text into sentences. What is code, quoted mail, a heading, a table, hidden or another speaker's is left
//! out. Pure.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

/// A sentence and the line or paragraph it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Its bytes in the text, without list marks and blanks around.
    pub span: Range<usize>,
    /// The number of its paragraph.
    pub paragraph: usize,
    /// Whether a box stands before it that is not ticked.
    pub is_open_task: bool,
}

/// Words after which a point ends nothing.
static TITLES: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "mr mrs ms dr prof st vs e.g i.e z.b d.h bzw ca nr no vol fig dept hr fr dott sig sigra sra ing lic mme mlle \
     m str tel u.a np tzn m.in p.ej c.-à-d bv bijv d.w.z dhr mevr т.е т.к г ул тел им approx min max abb kap art"
        .split(' ')
        .collect()
});

/// Words whose point ends a sentence only before a capital.
static TAILS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "etc inc ltd co corp jr sr p.m a.m usw u.s u.k ecc enz itd itp т.д т.п др s.a s.r.l gmbh e.v"
        .split(' ')
        .collect()
});

/// Months, before which a number with a point is a day.
static MONTHS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "januar jänner februar märz april mai juni juli august september oktober november dezember stock etage quartal"
        .split(' ')
        .collect()
});

/// Who speaks in a transcript and is no user.
const MACHINES: &[&str] = &[
    "assistant",
    "system",
    "developer",
    "tool",
    "ai",
    "bot",
    "chatgpt",
    "claude",
    "gpt",
    "gemini",
    "copilot",
];

/// Where an answered mail begins.
const ORIGINALS: &[&str] = &[
    "original message",
    "ursprüngliche nachricht",
    "message d'origine",
    "mensaje original",
    "messaggio originale",
    "mensagem original",
    "oorspronkelijk bericht",
    "исходное сообщение",
];

/// How the line before a quoted mail ends.
const WROTE: &[&str] = &[
    "wrote:",
    "schrieb:",
    "a écrit :",
    "a écrit:",
    "escribió:",
    "ha scritto:",
    "escreveu:",
    "schreef:",
    "napisał:",
    "пишет:",
];

const CLOSERS: &[char] = &['"', '\'', '”', '’', '»', ')', ']', '」', '』', '）', '*', '_', '“'];

pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (paragraph, block) in blocks(text).into_iter().enumerate() {
        for span in cut(text, block.span) {
            sentences.push(Sentence { span, paragraph, is_open_task: block.is_open_task });
        }
    }
    sentences
}

struct Block {
    span: Range<usize>,
    is_open_task: bool,
}

/// List items and paragraphs; a line goes on in the next when it was wrapped.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut at, mut fence, mut may_go_on, mut is_hidden) = (0, None, false, false);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            fence = if fence.is_none() { Some(mark) } else { fence.filter(|open| *open != mark) };
            may_go_on = false;
            continue;
        }
        if fence.is_some() {
            continue;
        }
        // A comment is for nobody's eyes.
        is_hidden |= trimmed.contains("<!--");
        let skipped = is_hidden || is_skipped(trimmed);
        is_hidden &= !trimmed.contains("-->");
        if skipped {
            may_go_on = false;
            continue;
        }
        if is_original(trimmed) {
            break;
        }
        let (mark, is_open_task) = list_mark(trimmed);
        let Some(mark) = mark else {
            may_go_on = false;
            continue;
        };
        let lead = line.len() - line.trim_start().len();
        let span = start + lead + mark..start + lead + trimmed.len();
        let goes_on = may_go_on && mark == 0 && text[span.clone()].starts_with(|c: char| c.is_alphanumeric());
        match blocks.last_mut() {
            Some(last) if goes_on => last.span.end = span.end,
            _ => blocks.push(Block { span, is_open_task }),
        }
        // Shorter lines were ended by their writer.
        may_go_on = trimmed.chars().count() >= 50 && !trimmed.ends_with(['.', '!', '?', ':', ';', '。']);
    }
    blocks
}

fn is_skipped(line: &str) -> bool {
    let folded = line.to_lowercase();
    let label = folded.split([':', '：']).next().unwrap_or_default();
    line.is_empty()
        || line.starts_with(['>', '#', '|'])
        || WROTE.iter().any(|end| folded.ends_with(end))
        || (label.len() < folded.len()
            && MACHINES.contains(&label.trim_matches(['*', '[', ']', '<', '>', ' '])))
}

fn is_original(line: &str) -> bool {
    let folded = line.to_lowercase();
    line.starts_with("--") && (line == "--" || ORIGINALS.iter().any(|words| folded.contains(words)))
}

/// How many bytes of list marks a line begins with, none for a ticked box; and whether there is an open box.
fn list_mark(line: &str) -> (Option<usize>, bool) {
    let bullet = line.strip_prefix(['-', '*', '+', '•', '‣', '▪', '●', '○', '–', '—', '・', '◦']);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = (digits.len() < line.len()).then(|| digits.strip_prefix(['.', ')', '、'])).flatten();
    let is_cjk = line.starts_with('・');
    let rest = match (bullet, number) {
        (Some(rest), _) if is_cjk || rest.starts_with(char::is_whitespace) => rest.trim_start(),
        (_, Some(rest)) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    };
    let open = rest.strip_prefix("[ ]");
    let is_done = rest.starts_with("[x]") || rest.starts_with("[X]");
    let rest = open.unwrap_or(rest).trim_start();
    ((!is_done).then_some(line.len() - rest.len()), open.is_some())
}

/// The sentences of a block.
fn cut(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let part = &text[block.clone()];
    let (mut spans, mut start) = (Vec::new(), 0);
    let mut chars = part.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '｡') {
            continue;
        }
        while chars
            .next_if(|(_, c)| CLOSERS.contains(c) || matches!(c, '!' | '?' | '.' | '！' | '？'))
            .is_some()
        {}
        let end = chars.peek().map_or(part.len(), |(end, _)| *end);
        let is_wide = matches!(c, '。' | '！' | '？' | '｡');
        if is_wide || ends(&part[start..at], c, &part[end..]) {
            spans.push(start..end);
            start = end;
        }
    }
    spans.push(start..part.len());
    let trim = |span: Range<usize>| {
        let inner = &part[span.clone()];
        let lead = inner.len() - inner.trim_start().len();
        let from = block.start + span.start + lead;
        from..from + inner.trim().len()
    };
    spans.into_iter().map(trim).filter(|span| !span.is_empty()).collect()
}

/// Whether a mark between these two texts ends a sentence.
fn ends(before: &str, mark: char, after: &str) -> bool {
    if !after.starts_with(char::is_whitespace) && !after.is_empty() {
        return false;
    }
    let next = after.trim_start();
    if mark != '.' {
        return mark != '…' || !next.starts_with(char::is_lowercase);
    }
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let folded = word.to_lowercase();
    let following = next.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    let is_day = !word.is_empty()
        && word.len() <= 2
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && MONTHS.contains(following.as_str());
    let is_tail =
        TAILS.contains(folded.as_str()) && !next.is_empty() && !next.starts_with(char::is_uppercase);
    !(is_initial || is_day || is_tail || TITLES.contains(folded.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|sentence| &text[sentence.span]).collect()
    }

    #[test]
    fn sentences_end_where_readers_end_them() {
        for (text, wanted) in [
            ("I am Bo. I live in Oslo!", vec!["I am Bo.", "I live in Oslo!"]),
            ("Dr. Lange pays 3.50 EUR. Ok?", vec!["Dr. Lange pays 3.50 EUR.", "Ok?"]),
            ("Am 3. Oktober um 9. Dann frei.", vec!["Am 3. Oktober um 9.", "Dann frei."]),
            ("See https://a.b/c.d?e=f now. Bye", vec!["See https://a.b/c.d?e=f now.", "Bye"]),
            ("Acme Inc. sells tea. J. Smith left.", vec!["Acme Inc. sells tea.", "J. Smith left."]),
            ("We close at 3 p.m. Come early.", vec!["We close at 3 p.m.", "Come early."]),
            ("私は猫が好き。犬も好き！そう？", vec!["私は猫が好き。", "犬も好き！", "そう？"]),
            ("He said \"no.\" Then left.", vec!["He said \"no.\"", "Then left."]),
            ("- one\n* two\n3. three\n・四", vec!["one", "two", "three", "四"]),
            ("- [ ] open\n- [x] done", vec!["open"]),
        ] {
            assert_eq!(cut(text), wanted);
        }
        let wrapped = "This is a line that was wrapped by a mail program at\nseventy characters. Next.";
        assert_eq!(cut(wrapped).len(), 2);
    }

    #[test]
    fn code_quotes_headings_comments_and_machines_are_left_out() {
        let text = "# Head\nkept\n```\ncode\n```\n> quoted\nOn Monday Bo wrote:\n| a | b |\n<!-- hidden\nstill -->\n\
            assistant: no\nSystem: no\nuser: yes\n--\nBo";
        assert_eq!(cut(text), ["kept", "user: yes"]);
    }

    proptest! {
        #[test]
        fn sentences_stand_in_the_text_in_order(text in "([a-zé字.!?。 \n>#`\\-\\[\\]x0-9\u{301}]|\\PC){0,80}") {
            let mut at = 0;
            for sentence in sentences(&text) {
                prop_assert!(sentence.span.start >= at && !text[sentence.span.clone()].trim().is_empty());
                at = sentence.span.end;
            }
        }
    }
}
