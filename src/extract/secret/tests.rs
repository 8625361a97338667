use proptest::prelude::*;

use super::*;

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAn4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8/KuKPEHLd4\n-----END RSA PRIVATE KEY-----";

fn masked(text: &str) -> String {
    mask(text).0
}

/// Texts with a secret, and what is left of them.
#[test]
fn secrets_are_masked_and_the_rest_survives_c169() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    let cases = [
        (
            "Our key is AKIAIOSFODNN7EXAMPLE, in eu-west-1.".to_owned(),
            "Our key is [secret: api key], in eu-west-1.",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            "aws_secret_access_key = [secret: api key]",
        ),
        (
            format!("use AIza{} for maps", "Sy0123456789abcdefghijklmnopqrstuvw"),
            "use [secret: api key] for maps",
        ),
        (format!("ghp_{} may push", "a1B2".repeat(9)), "[secret: token] may push"),
        ("token glpat-abcDEF123456ghiJKL78 ends in May".to_owned(), "token [secret: token] ends in May"),
        (format!("Slack: xoxb{}", "-123456789012-abcdefABCDEF"), "Slack: [secret: token]"),
        (format!("sk_live{} is Stripe's", "_4eC39HqLyjWDarjtT1zdp7dc"), "[secret: api key] is Stripe's"),
        ("OpenAI: sk-proj-abc123DEF456ghi789JKL012.".to_owned(), "OpenAI: [secret: api key]."),
        ("sk-ant-api03-abcDEF123456ghiJKL789_xyz".to_owned(), "[secret: api key]"),
        (format!("mt_key_{}_{}_{}", "a1".repeat(6), "b2".repeat(16), "c3".repeat(3)), "[secret: api key]"),
        (format!("mt_pat_{}_{}_{}", "a1".repeat(6), "b".repeat(43), "c3".repeat(3)), "[secret: api key]"),
        (format!("Authorization: Bearer {jwt}"), "Authorization: Bearer [secret: token]"),
        (
            "curl -H 'Authorization: Bearer abcDEF123456ghiJKL' x".to_owned(),
            "curl -H 'Authorization: Bearer [secret: token]' x",
        ),
        ("Authorization: Basic dXNlcjpwYXNzMQ==".to_owned(), "Authorization: Basic [secret: token]"),
        (
            format!("The server's key:\n{PEM}\nIt lives in Oslo."),
            "The server's key:\n[secret: private key]\nIt lives in Oslo.",
        ),
        (format!("{}\nWe meet on Monday.", &PEM[..90]), "[secret: private key]\nWe meet on Monday."),
        (
            "My card is 4111 1111 1111 1111, until 12/29.".to_owned(),
            "My card is [secret: card number], until 12/29.",
        ),
        ("Amex 3782-822463-10005".to_owned(), "Amex [secret: card number]"),
        ("カードは5555555555554444です".to_owned(), "カードは[secret: card number]です"),
        ("password = hunter2".to_owned(), "password = [secret: password]"),
        (
            "The password for the Wi-Fi is: hunter2".to_owned(),
            "The password for the Wi-Fi is: [secret: password]",
        ),
        ("My password is hunter2.".to_owned(), "My password is [secret: password]."),
        ("pwd: letmein".to_owned(), "pwd: [secret: password]"),
        ("DB_PASSWORD=\"correct horse 9 staple\"".to_owned(), "DB_PASSWORD=\"[secret: password]\""),
        (
            "Das Passwort lautet geheim123, bitte merken.".to_owned(),
            "Das Passwort lautet [secret: password], bitte merken.",
        ),
        ("Mot de passe : soleil2024".to_owned(), "Mot de passe : [secret: password]"),
        ("La contraseña es Verano#22".to_owned(), "La contraseña es [secret: password]"),
        ("Senha: abacaxi77".to_owned(), "Senha: [secret: password]"),
        ("Wachtwoord: Fiets-12!x".to_owned(), "Wachtwoord: [secret: password]"),
        ("Hasło to kot1234".to_owned(), "Hasło to [secret: password]"),
        ("Пароль: qwerty77".to_owned(), "Пароль: [secret: password]"),
        ("パスワードはsakura2024です".to_owned(), "パスワードは[secret: password]"),
        ("密码是abc12345。".to_owned(), "密码是[secret: password]。"),
        (
            "postgres://app:s3cr3t@db.example.com/app".to_owned(),
            "postgres://app:[secret: password]@db.example.com/app",
        ),
        ("redis://:p4ss@word@cache:6379".to_owned(), "redis://:[secret: password]@cache:6379"),
        ("api_key: 9f8a7d6c5b4a39281706".to_owned(), "api_key: [secret: api key]"),
        ("Our API key is Zx81Kq0Lm2Pw7Tr4.".to_owned(), "Our API key is [secret: api key]."),
        ("?access_token=q1w2e3r4t5y6u7i8&x=1".to_owned(), "?access_token=[secret: token]"),
        ("PIN: 4821".to_owned(), "PIN: [secret: password]"),
    ];
    for (text, left) in cases {
        assert_eq!(masked(&text), left, "{text}");
        assert_eq!(find(left), [], "what is masked is not a secret again: {left}");
    }
}

#[test]
fn harmless_values_are_left_alone_c169() {
    for text in [
        "No Firebase API key in the build",
        "export API_KEY=$API_KEY and token=${TOKEN}",
        "const key = process.env.X; apiKey: process.env.OPENAI_API_KEY_2024",
        "api_key = <your-key>, token: YOUR_TOKEN_HERE, password: ********",
        "password = os.environ['DB_PASSWORD_2']",
        "postgres://app:${DB_PASSWORD}@db/app and postgres://app:<password>@db/app",
        "fixed in 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "order 4111111111111112, 1700000000000, 0.4111111111111111, 1234567890123456",
        "phone +49 170 1234567, IBAN DE89 3704 0044 0532 0130 00",
        "password policy is 12 characters",
        "The password is 12 characters long, passwords are hashed with argon2id.",
        "Password: required. password: string; password: at least 12 characters",
        "The password is required and the token is valid for 15 minutes",
        "max_tokens: 4096, tokens = 128000, token bucket of 100",
        "bearer authentication is mandatory; Bearer tokens are short-lived",
        "sk-learn-compatible-interface-of-models",
        "https://example.com:8080/path?user=me@example.com",
        "the secret of good coffee is fresh beans; secret santa 2024",
        "PIN code is asked twice; PIN 2024 budget",
        "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn sorts_are_told_in_order_c169() {
    let (text, kinds) = mask("pwd: hunter2, card 4242424242424242, again pwd: hunter3");
    assert_eq!(text, "pwd: [secret: password], card [secret: card number], again pwd: [secret: password]");
    assert_eq!(kinds, [SecretKind::Password, SecretKind::CardNumber, SecretKind::Password]);
}

proptest! {
    #[test]
    fn all_text_outside_of_secrets_is_kept(
        pieces in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,20}",
                "[a-zA-Z0-9:=@/ ._-]{0,20}",
                Just("password: hunter2".to_owned()),
                Just("パスワードは".to_owned()),
                Just("https://u:p@h".to_owned()),
                Just("sk-proj-abc123DEF456ghi789JKL012".to_owned()),
                Just("4111 1111 1111 1111".to_owned()),
                Just("-----BEGIN PRIVATE KEY-----".to_owned()),
                Just("\u{feff}é\u{301}'\"`".to_owned()),
            ],
            0..12,
        )
    ) {
        let text = pieces.concat();
        let secrets = find(&text);
        let (masked, kinds) = mask(&text);
        prop_assert_eq!(kinds.len(), secrets.len());
        let (mut rest, mut at) = (masked.as_str(), 0);
        for secret in secrets {
            prop_assert!(secret.range.start >= at && secret.range.end > secret.range.start);
            let before = &text[at..secret.range.start];
            prop_assert!(rest.starts_with(before));
            let name = format!("[secret: {}]", secret.kind.as_str());
            prop_assert!(rest[before.len()..].starts_with(&name));
            rest = &rest[before.len() + name.len()..];
            at = secret.range.end;
        }
        prop_assert_eq!(rest, &text[at..]);
    }

    #[test]
    fn no_text_causes_a_panic(text in any::<String>()) {
        mask(&text);
    }
}
