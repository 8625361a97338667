//! The attack table (C080, C082): each forged token is refused, with the same words.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use super::*;
use crate::auth::signing::new_key;
use crate::auth::{Action, Area};

struct Setup {
    signer: Signer,
    verifiers: Verifiers,
    public_key: Vec<u8>,
    now: DateTime<Utc>,
    token: String,
}

fn setup() -> Setup {
    let (private, public_key, kid) = new_key().expect("the system is random");
    let signer = Signer { kid: kid.clone(), key: EncodingKey::from_ed_der(&private) };
    let verifiers = Verifiers::from([(kid, DecodingKey::from_ed_der(&public_key))]);
    let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
    let token = mint(&signer, &claims(now), now).expect("a token");
    Setup { signer, verifiers, public_key, now, token }
}

fn claims(now: DateTime<Utc>) -> Claims {
    Claims {
        tenant: TenantId::new(),
        namespace: "default".parse().expect("a name"),
        key: KeyId::new(),
        jti: Some(CapabilityId::new()),
        rights: Rights::of([(Area::Durable, Action::Read)]),
        scopes: None,
        sensitivity: BTreeSet::from([Sensitivity::Normal]),
        control: false,
        actor: Actor::default(),
        expires_at: Some(now + TimeDelta::minutes(15)),
        ancestors: vec![CapabilityId::new()],
        epochs: Epochs { tenant: 1, key: 2 },
    }
}

impl Setup {
    fn check(&self, token: &str) -> Result<Claims> {
        let verified = verify(&self.verifiers, token, TimeDelta::hours(1))?;
        verified.check_time(self.now)?;
        Ok(Claims::clone(&verified.claims))
    }

    /// The good token with another header and payload, signed with the good key.
    fn signed(&self, change_header: impl Fn(&mut Value), change_payload: impl Fn(&mut Value)) -> String {
        let parts = self.parts();
        let (mut header, mut payload) = (part(parts[0]), part(parts[1]));
        change_header(&mut header);
        change_payload(&mut payload);
        let message = format!("{}.{}", encode(&header), encode(&payload));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.signer.key, Algorithm::EdDSA);
        format!("{message}.{}", signature.expect("a signature"))
    }

    fn parts(&self) -> Vec<&str> {
        self.token.split('.').collect()
    }
}

fn part(text: &str) -> Value {
    serde_json::from_slice(&BASE64.decode(text).expect("base64")).expect("JSON")
}

fn encode(value: &Value) -> String {
    BASE64.encode(value.to_string())
}

fn same(_: &mut Value) {}

fn set(name: &'static str, value: Value) -> impl Fn(&mut Value) {
    move |object| object[name] = value.clone()
}

fn without(name: &'static str) -> impl Fn(&mut Value) {
    move |object| {
        object.as_object_mut().expect("an object").remove(name);
    }
}

#[test]
fn a_good_token_says_what_was_minted() {
    let setup = setup();
    let wanted = claims(setup.now);
    let token = mint(&setup.signer, &wanted, setup.now).expect("a token");
    assert_eq!(setup.check(&token).expect("good"), wanted);
    assert!(setup.check(&setup.signed(same, same)).is_ok(), "the test signs like the product");
    let with_keys_in_it = setup.signed(
        |header| {
            header["jku"] = json!("https://example.org/keys");
            header["x5u"] = json!("https://example.org/cert");
        },
        same,
    );
    assert!(setup.check(&with_keys_in_it).is_ok(), "what is not looked at does not matter");
}

#[test]
fn forged_tokens_are_refused_c080() {
    let setup = setup();
    let parts = setup.parts();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    let other = mint(&setup.signer, &claims(setup.now), setup.now).expect("a token");
    let other_signature = other.rsplit('.').next().expect("three parts");
    let mut edited = part(payload);
    edited["ctl"] = json!(true);
    let edited = encode(&edited);
    let mut forged = vec![
        format!("{header}.{payload}."),
        format!("{header}.{payload}"),
        format!("{header}.{payload}.{other_signature}"),
        format!("{header}.{edited}.{signature}"),
        format!("{header}.{payload}.{}", BASE64.encode([0; 64])),
        format!("{header}.{payload}.{signature}="),
        format!("{header}.{payload}.{signature}.{signature}.{signature}"),
        format!("{payload}.{header}.{signature}"),
        String::new(),
        "..".to_owned(),
        "Bearer".to_owned(),
        format!("{header}.{payload}.{}", "A".repeat(1_000_000)),
        setup.token.to_uppercase(),
    ];
    for alg in ["none", "None", "nOnE", "NONE", "", "HS256", "HS512", "ES256", "RS256", "PS256", "EDDSA"] {
        let header = encode(&json!({ "alg": alg, "typ": TYPE, "kid": setup.signer.kid }));
        forged.push(format!("{header}.{payload}."));
        forged.push(format!("{header}.{payload}.{signature}"));
        forged.push(setup.signed(set("alg", json!(alg)), same));
    }
    forged.push(setup.signed(without("alg"), same));
    forged.push(setup.signed(set("alg", json!(["EdDSA"])), same));
    forged.push(setup.signed(set("alg", json!(8)), same));
    for token in &forged {
        assert_refused(&setup, token);
    }
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let setup = setup();
    let payload = part(setup.parts()[1]);
    let mut header = Header::new(Algorithm::HS256);
    header.typ = Some(TYPE.to_owned());
    header.kid = Some(setup.signer.kid.clone());
    for secret in [setup.public_key.clone(), BASE64.encode(&setup.public_key).into_bytes()] {
        let key = EncodingKey::from_secret(&secret).expect("a key");
        assert_refused(&setup, &jsonwebtoken::encode(&header, &payload, &key).expect("a token"));
    }
}

#[test]
fn names_of_keys_are_only_names_c082() {
    let setup = setup();
    let stranger = self::setup();
    assert_refused(&setup, &stranger.token);
    let kids = [
        json!("../../dev/null"),
        json!("/etc/passwd"),
        json!("x' OR 1=1 --"),
        json!("https://example.org/keys"),
        json!("k".repeat(100_000)),
        json!(""),
        json!(7),
        json!([setup.signer.kid]),
        json!({ "kid": setup.signer.kid }),
        json!(null),
        json!(stranger.signer.kid),
    ];
    for kid in kids {
        assert_refused(&setup, &setup.signed(set("kid", kid), same));
    }
    assert_refused(&setup, &setup.signed(without("kid"), same));
    // A key that comes with the token does not verify it.
    let x = BASE64.encode(&stranger.public_key);
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": setup.signer.kid });
    let with_jwk = |header: &mut Value| {
        header["kid"] = json!(setup.signer.kid);
        header["jwk"] = jwk.clone();
        header["jku"] = json!("https://example.org/keys");
        header["x5u"] = json!("https://example.org/cert");
    };
    assert_refused(&setup, &stranger.signed(with_jwk, same));
}

#[test]
fn claims_and_type_are_checked() {
    let setup = setup();
    for typ in [json!("JWT"), json!("at+jwt"), json!("AKC+JWT"), json!(""), json!(null), json!(1)] {
        assert_refused(&setup, &setup.signed(set("typ", typ), same));
    }
    assert_refused(&setup, &setup.signed(without("typ"), same));
    for name in [
        "iss", "aud", "sub", "tid", "ns", "cap", "sen", "ctl", "act", "iat", "nbf", "exp", "jti", "ep", "anc",
    ] {
        assert_refused(&setup, &setup.signed(same, without(name)));
        assert_refused(&setup, &setup.signed(same, set(name, json!(null))));
    }
    for (name, value) in [
        ("iss", json!("somebody")),
        ("iss", json!(["memtide", "somebody"])),
        ("aud", json!("another")),
        ("aud", json!(["memtide-api"])),
        ("sub", json!("somebody")),
        ("tid", json!("ten_1")),
        ("ns", json!("")),
        ("ns", json!("a b")),
        ("cap", json!({ "memory.everything": ["read"] })),
        ("exp", json!("never")),
        ("exp", json!(9e300)),
        ("exp", json!(i64::MAX)),
        ("nbf", json!(i64::MIN)),
        ("ep", json!([])),
        ("scp", json!("all")),
    ] {
        assert_refused(&setup, &setup.signed(same, set(name, value)));
    }
}

#[test]
fn times_have_five_seconds_of_leeway() {
    let setup = setup();
    let at = |seconds: i64| json!(setup.now.timestamp() + seconds);
    assert!(setup.check(&setup.signed(same, set("exp", at(-5)))).is_ok());
    assert_refused(&setup, &setup.signed(same, set("exp", at(-6))));
    assert!(setup.check(&setup.signed(same, set("nbf", at(5)))).is_ok());
    assert_refused(&setup, &setup.signed(same, set("nbf", at(6))));
}

#[test]
fn a_token_lives_no_longer_than_this_deployment_lets_any() {
    let setup = setup();
    let at = |seconds: i64| json!(setup.now.timestamp() + seconds);
    assert!(setup.check(&setup.signed(same, set("exp", at(3600)))).is_ok());
    assert_refused(&setup, &setup.signed(same, set("exp", at(3601))));
    let dated_ahead = |payload: &mut Value| {
        (payload["exp"], payload["iat"]) = (at(7200), at(3600));
    };
    assert_refused(&setup, &setup.signed(same, dated_ahead));
}

#[test]
fn a_token_is_never_minted_longer_than_is_read() {
    let setup = setup();
    let scope = |key: String| Scope { kind: crate::memory::ScopeKind::User, key };
    let scopes = (0..100).map(|number| scope(format!("{number:050}"))).collect();
    let long = Claims { scopes: Some(scopes), ..claims(setup.now) };
    assert!(matches!(mint(&setup.signer, &long, setup.now), Err(Error::Invalid(_))));
}

fn assert_refused(setup: &Setup, token: &str) {
    let error = setup.check(token).expect_err(&token[..token.len().min(300)]);
    assert_eq!((error.code(), error.to_string().as_str()), ("unauthorized", REFUSED));
}
