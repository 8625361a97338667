//! The forms of secrets, and the words before them. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Secret, SecretKind};

/// Forms that are secrets wherever they stand: letters before or after, but not those of scripts without blanks, would
/// make them parts of something else.
const FORMS: &[(SecretKind, &str)] = &[
    (
        SecretKind::PrivateKey,
        r"(?s)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    ),
    // Cut off before its end.
    (
        SecretKind::PrivateKey,
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[rn])*[A-Za-z0-9+/=]{16,})*",
    ),
    (SecretKind::ApiKey, r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)"), // AWS
    (SecretKind::ApiKey, r"(?-u:\b)AIza[0-9A-Za-z_-]{35}"),                       // Google
    (SecretKind::ApiKey, r"(?-u:\b)GOCSPX-[0-9A-Za-z_-]{20,}"),
    (SecretKind::Token, r"(?-u:\b)ya29\.[0-9A-Za-z_-]{20,}"),
    (SecretKind::Token, r"(?-u:\b)gh[opsur]_[A-Za-z0-9]{30,}"), // GitHub
    (SecretKind::Token, r"(?-u:\b)github_pat_[A-Za-z0-9_]{22,}"),
    (SecretKind::Token, r"(?-u:\b)gl(?:pat|dt|rt|ptt|ft|soat|cbt)-[A-Za-z0-9_-]{20,}"), // GitLab
    (SecretKind::Token, r"(?-u:\b)xox[a-z]-[A-Za-z0-9-]{10,}"),                         // Slack
    (SecretKind::Token, r"(?-u:\b)xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    (SecretKind::Token, r"(?-u:\b)hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{20,})"),
    (SecretKind::ApiKey, r"(?-u:\b)[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"), // Stripe
    (SecretKind::ApiKey, r"(?-u:\b)whsec_[A-Za-z0-9+/=]{16,}"),
    (SecretKind::ApiKey, r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)"),
    (SecretKind::ApiKey, r"(?-u:\b)pypi-[A-Za-z0-9_-]{16,}"),
    (SecretKind::ApiKey, r"(?-u:\b)hf_[A-Za-z0-9]{30,}"), // Hugging Face
    (SecretKind::ApiKey, r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"), // SendGrid
    (SecretKind::ApiKey, r"(?-u:\b)do[opr]_v1_[0-9a-f]{40,}"), // DigitalOcean
    (SecretKind::ApiKey, r"(?-u:\b)shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}"), // Shopify
    (SecretKind::Token, r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?-u:\b)"), // Telegram
    (SecretKind::ApiKey, r"(?-u:\b)mt_(?:key|op|pat)_[A-Za-z0-9]{12}_[A-Za-z0-9]{20,}(?:_[A-Za-z0-9]+)?"), // ours
    (SecretKind::Token, r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"), // JWT
    (
        SecretKind::Token,
        r#"(?i)(?-u:\b)authorization["']?\s*[:=]\s*["']?(?:basic|bearer|token|apikey)\s+([A-Za-z0-9._~+/=-]{8,})"#,
    ),
];

/// Forms that ordinary words can have, too: a digit among their letters decides.
const LIKELY: &[(SecretKind, &str)] = &[
    (SecretKind::ApiKey, r"(?-u:\b)sk-[A-Za-z0-9_-]{20,}"), // OpenAI, Anthropic and those like them
    (SecretKind::Token, r#"(?i)(?-u:\b)bearer["']?[ :=]+["']?([A-Za-z0-9._~+/=-]{16,})"#),
];

const URL: &str = r"(?i)[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,256}:([^\s/?#]{1,256})@[^\s@]";

/// Words of passwords in a few languages, and those of keys and tokens.
const PASSWORD: &str = "passwords?|passwd|pwd|passcode|passphrase|passwort|kennwort|mot de passe|mdp|contraseña|\
    contrasena|senha|palavra-passe|parola d.ordine|wachtwoord|hasło|haslo|пароль|пароля|heslo|jelszó|şifre|lösenord|\
    adgangskode|passord|salasana|κωδικός|密码|密碼|口令|パスワード|暗証番号|비밀번호";
const KEY: &str = "api[ _-]?keys?|apikey|access[ _-]?key(?:[ _-]id)?|secret[ _-]?(?:access[ _-]?)?key|client[ _-]?secret|\
    account[ _-]?key|signing[ _-]?key|encryption[ _-]?key|private[ _-]?key|secret|api-schlüssel|clé (?:d.)?api|\
    clave (?:de )?api|chave (?:de )?api|chiave api|api-sleutel|klucz api|ключ api|api-ключ|apiキー|api密钥|密钥";
const TOKEN: &str = "(?:access|auth|refresh|session|id|bot|deploy|personal access)[ _-]?token|token|jeton|令牌|トークン|токен";

/// What stands between the word and the value: a sign, or a verb.
const SIGN: &str = r#"["'`]?\s*(?::=|=>|[:=：＝])\s*"#;
const VERB: &str =
    r"(?:\s+(?:is|are|was|ist|lautet|est|es|è|é|to|jest|это|-|—)\s*:?\s+|\s*(?:は|是|为|為|は、)\s*)";

/// What the password is for may stand before the verb.
const FOR: &str = r"(?:\s+(?:for|of|to|on|at|in|für|vom|zum|de|du|pour|del|para|da|do|di|per|van|voor|od|для|от)\s[^\n.;:=?!]{1,40}?)?";

/// A quoted value, or one without blanks that does not end in the sentence's mark.
const VALUE: &str =
    r#"(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|`([^`\n]{1,200})`|([^\s"'`,;，。、）)]{1,200}))"#;

static KNOWN: LazyLock<Vec<(SecretKind, Regex)>> = LazyLock::new(|| compile(FORMS));
static GUESSED: LazyLock<Vec<(SecretKind, Regex)>> = LazyLock::new(|| compile(LIKELY));
static IN_URL: LazyLock<Regex> = LazyLock::new(|| regex(URL));
static NAMED: LazyLock<[Named; 6]> = LazyLock::new(|| {
    let after = |words: &str, between: &str| regex(&format!(r"(?i)(?:{words}){between}{VALUE}"));
    let flag = |words: &str| regex(&format!(r"(?i)--[a-z-]*(?:{words})[ =]{VALUE}"));
    [
        Named { kind: SecretKind::Password, regex: after(PASSWORD, SIGN), is_secret: is_set_password },
        Named {
            kind: SecretKind::Password,
            regex: after(PASSWORD, &format!("{FOR}(?:{VERB}|{SIGN})")),
            is_secret: is_told_password,
        },
        Named { kind: SecretKind::Password, regex: flag("password|passwd"), is_secret: is_set_password },
        Named {
            kind: SecretKind::Password,
            regex: regex(&format!(r"(?-u:\b)PIN(?:\s+code)?(?:{SIGN}|{VERB}){VALUE}")),
            is_secret: |pin, _| (4..=8).contains(&pin.len()) && pin.bytes().all(|byte| byte.is_ascii_digit()),
        },
        Named {
            kind: SecretKind::ApiKey,
            regex: after(KEY, &format!(r"(?:{SIGN}|{VERB}|\s+)")),
            is_secret: is_random,
        },
        Named {
            kind: SecretKind::Token,
            regex: after(TOKEN, &format!(r"(?:{SIGN}|{VERB}|\s+)")),
            is_secret: is_random,
        },
    ]
});

/// A value after a word.
struct Named {
    kind: SecretKind,
    regex: Regex,
    /// Whether the value is one, by itself and by what follows it.
    is_secret: fn(&str, &str) -> bool,
}

pub(super) fn find(text: &str) -> impl Iterator<Item = Secret> + '_ {
    let known = KNOWN.iter().flat_map(move |(kind, regex)| values(text, regex, *kind));
    let guessed = GUESSED.iter().flat_map(move |(kind, regex)| {
        values(text, regex, *kind).filter(move |secret| is_mixed(&text[secret.range.clone()]))
    });
    let in_url = values(text, &IN_URL, SecretKind::Password)
        .filter(move |secret| !is_reference(&text[secret.range.clone()]));
    let named = NAMED.iter().flat_map(move |named| {
        values(text, &named.regex, named.kind).filter_map(move |secret| named.check(text, secret))
    });
    known.chain(guessed).chain(in_url).chain(named)
}

impl Named {
    fn check(&self, text: &str, mut secret: Secret) -> Option<Secret> {
        let value = &text[secret.range.clone()];
        if is_reference(value) {
            return None;
        }
        let value = value.trim_end_matches(['.', '!', '?', ':', ']', '}', '>']);
        secret.range.end = secret.range.start + value.len();
        (!value.is_empty() && (self.is_secret)(value, &text[secret.range.end..])).then_some(secret)
    }
}

/// The first group that took part in each match, or the whole.
fn values<'a>(text: &'a str, regex: &'a Regex, kind: SecretKind) -> impl Iterator<Item = Secret> + 'a {
    let range = |found: Captures| -> Option<Range<usize>> {
        found.iter().skip(1).flatten().next().or_else(|| found.get(0)).map(|group| group.range())
    };
    regex.captures_iter(text).filter_map(range).map(move |range| Secret { range, kind })
}

/// `password: letmein` is one, `password: required` and `password: at least 12 characters` are not.
fn is_set_password(value: &str, after: &str) -> bool {
    const NONE: &[&str] = &[
        "required",
        "optional",
        "string",
        "str",
        "none",
        "null",
        "nil",
        "true",
        "false",
        "yes",
        "no",
        "text",
        "hidden",
        "unknown",
        "expired",
        "changed",
        "missing",
        "invalid",
        "wrong",
        "incorrect",
        "reset",
        "n/a",
        "tbd",
        "see",
        "ask",
        "erforderlich",
        "obligatoire",
        "obligatorio",
        "bytes",
        "varchar",
        "input",
        "redacted",
    ];
    if is_told_password(value, after) {
        return true;
    }
    let follows = after.trim_start_matches(['"', '\'', '`', '.', '!', ']', '}']);
    let is_last = follows.chars().find(|c| *c != ' ').is_none_or(|c| !c.is_alphanumeric());
    let is_word = value.chars().all(char::is_alphabetic);
    is_word && is_last && value.chars().count() > 3 && !NONE.contains(&value.to_lowercase().as_str())
}

/// After a verb (`the password is …`) only what no word looks like.
fn is_told_password(value: &str, after: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    let signs =
        value.chars().filter(|c| c.is_ascii_punctuation() && !matches!(c, '-' | '\'' | '/' | '.')).count();
    // `12 characters`, `2FA`, `24h`.
    let is_number =
        letters == 0 && after.starts_with(' ') && after[1..].starts_with(|c: char| c.is_alphabetic());
    let is_short = value.chars().count() < 5;
    !is_number && !is_short && (digits > 0 || signs > 0) && (letters > 0 || digits > 3 || signs > 0)
}

/// No word, no number and no name: letters and digits in a long row of many different characters.
fn is_random(value: &str, _after: &str) -> bool {
    let length = value.chars().count();
    let mut seen: Vec<char> = value.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    let is_ours = |c: char| c.is_ascii_alphanumeric() || "-_.+/=~|!@#$%^&*:".contains(c);
    (12..=200).contains(&length) && seen.len() >= 8 && is_mixed(value) && value.chars().all(is_ours)
}

fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether it only says where the value stands: `$API_KEY`, `${TOKEN}`, `<your-key>`, `process.env.X`, `****`.
fn is_reference(value: &str) -> bool {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?x)^(?: \$[A-Z_][A-Z0-9_]* | \$[a-z_]+ | \$?[{(<\[].* | %[A-Za-z0-9_]+% | \$env:.*
            | (?:\w+(?:\.|::))*(?:env|ENV|environ|getenv|secrets|vault|config|settings)[\.\[(:/].*
            | (?i:your|my|some|the)[-_].* | (?i:x{3,}|\*{2,}|\.{2,}|…|-+).* | [A-Z]+(?:_[A-Z]+)+ )$",
        )
    });
    REFERENCE.is_match(value.trim_end_matches(['.', '!']))
}

fn compile(forms: &[(SecretKind, &str)]) -> Vec<(SecretKind, Regex)> {
    forms.iter().map(|(kind, form)| (*kind, regex(form))).collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours")
}
