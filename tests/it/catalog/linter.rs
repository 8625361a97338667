//! What the catalog must look like so that no tenant sees another's rows (docs/architecture.md, "Isolation"). Each
//! rule is a query that gives its breaches in words.

use std::collections::BTreeSet;

use sqlx::PgConnection;

use super::grants::GRANTS;

/// Tables without a tenant, and why.
const GLOBAL: &[(&str, &str)] = &[
    ("_sqlx_migrations", "what the schema has had"),
    ("models", "names and sizes of embedding models"),
    ("operator_keys", "the deployment's, not a tenant's"),
    ("signing_keys", "the deployment's, not a tenant's"),
];

/// Unique keys that do not begin with the tenant, and why.
const UNIQUE_ACROSS_TENANTS: &[(&str, &str)] = &[(
    "tenants_slug",
    "operators alone give slugs and see them, so that a taken one tells no tenant anything",
)];

/// Tables with a `tenant_id`, and relations that are no part of an extension.
const OURS: &str = "
WITH ours AS (
  SELECT c.oid, c.relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
    (SELECT attnum FROM pg_attribute a
     WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped) AS tenant
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
), tables AS (SELECT * FROM ours WHERE relkind IN ('r', 'p'))";

/// The one condition under which the service sees and writes a row.
const OWN_TENANT: &str = "(tenant_id = ( SELECT (NULLIF(current_setting('memtide.tenant'::text, true), ''::text))::uuid AS \"nullif\"))";

const RULES: &[&str] = &[
    "SELECT format('%s: row level security is not enabled and forced', relname)
     FROM tables
     WHERE tenant IS NOT NULL AND NOT (relrowsecurity AND relforcerowsecurity)",
    "SELECT format('%s: there is no policy for the service', relname)
     FROM tables t
     WHERE tenant IS NOT NULL
       AND NOT EXISTS (
         SELECT FROM pg_policy WHERE polrelid = t.oid AND polroles = ARRAY['memtide_app'::regrole::oid])",
    "SELECT format('%s: policy %s opens more than the own tenant', p.polrelid::regclass, p.polname)
     FROM pg_policy p
     WHERE p.polroles <> ARRAY['memtide_operator'::regrole::oid]
       AND (p.polroles <> ARRAY['memtide_app'::regrole::oid]
         OR p.polcmd <> '*'
         OR NOT p.polpermissive
         OR pg_get_expr(p.polqual, p.polrelid) IS DISTINCT FROM $1
         OR pg_get_expr(p.polwithcheck, p.polrelid) IS DISTINCT FROM $1)",
    "SELECT format('%s: has no tenant_id and is not known to be global', relname)
     FROM tables
     WHERE tenant IS NULL AND relname <> ALL ($2)",
    "SELECT format('%s: shows rows with the rights of its owner', relname)
     FROM ours
     WHERE relkind IN ('m', 'f')
        OR (relkind = 'v' AND NOT coalesce(reloptions, '{}') && '{security_invoker=true,security_invoker=on}')",
    "SELECT format('%s: runs with the rights of its owner', p.oid::regprocedure)
     FROM pg_proc p
     JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE p.prosecdef
       AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')",
    "SELECT format('%s: is unique across tenants', i.indexrelid::regclass)
     FROM tables t
     JOIN pg_index i ON i.indrelid = t.oid
     WHERE t.tenant IS NOT NULL
       AND (i.indisunique OR i.indisexclusion)
       AND i.indkey[0] <> t.tenant
       AND (SELECT relname FROM pg_class WHERE oid = i.indexrelid) <> ALL ($3)",
    "SELECT format('%s.%s: points across tenants', t.relname, f.conname)
     FROM pg_constraint f
     JOIN tables t ON t.oid = f.conrelid
     JOIN tables r ON r.oid = f.confrelid
     WHERE f.contype = 'f'
       AND r.tenant IS NOT NULL
       AND (t.tenant IS NULL OR f.conkey[1] <> t.tenant OR f.confkey[1] <> r.tenant)",
    "SELECT format('%s: may make things in %s', r, n.nspname)
     FROM pg_namespace n, unnest('{memtide_app,memtide_operator}'::text[]) r
     WHERE n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(r, n.oid, 'CREATE')",
    "SELECT format('%s: may %s in this database', r, p)
     FROM unnest('{memtide_app,memtide_operator}'::text[]) r, unnest('{TEMPORARY,CREATE}'::text[]) p
     WHERE has_database_privilege(r, current_database(), p)",
    "SELECT format('%s: can do what only a superuser should', rolname)
     FROM pg_roles
     WHERE rolname IN ('memtide_app', 'memtide_operator', 'memtide_owner')
       AND (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication
         OR rolcanlogin <> (rolname = 'memtide_app'))",
    "SELECT format('%s: is a member of %s', member::regrole, roleid::regrole)
     FROM pg_auth_members
     WHERE member IN ('memtide_app'::regrole, 'memtide_operator'::regrole)
       AND (roleid <> 'memtide_operator'::regrole OR inherit_option OR admin_option)",
    "SELECT format('%s: owns %s', refobjid::regrole, pg_describe_object(classid, objid, objsubid))
     FROM pg_shdepend
     WHERE refobjid IN ('memtide_app'::regrole, 'memtide_operator'::regrole)
       AND deptype = 'o'
       AND dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))",
    "SELECT format('default privileges of %s: rights nobody has looked at', defaclrole::regrole)
     FROM pg_default_acl",
];

/// Who else than the owner may do what to which relation or column.
const GRANTED: &str = "
SELECT format('%s %s %s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, thing,
  string_agg(privilege_type || CASE WHEN is_grantable THEN '*' ELSE '' END, ',' ORDER BY privilege_type))
FROM (
  SELECT o.relname::text AS thing, acl.*
  FROM ours o
  JOIN pg_class c ON c.oid = o.oid, aclexplode(c.relacl) acl
  WHERE acl.grantee <> c.relowner
  UNION ALL
  SELECT format('%s.%s', o.relname, a.attname), acl.*
  FROM ours o
  JOIN pg_attribute a ON a.attrelid = o.oid, aclexplode(a.attacl) acl
) granted
GROUP BY grantee, thing";

/// Everything in the catalog that breaks a rule.
pub async fn faults(connection: &mut PgConnection) -> Vec<String> {
    let names = |list: &[(&str, &str)]| list.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let (global, across) = (names(GLOBAL), names(UNIQUE_ACROSS_TENANTS));
    let mut faults = Vec::new();
    for rule in RULES {
        // The parameters are named in every statement, so that each can be bound.
        let sql = format!("{OURS}, words AS (SELECT $1::text, $2::text[], $3::text[]) {rule}");
        let query = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(sql));
        let found = query.bind(OWN_TENANT).bind(&global).bind(&across).fetch_all(&mut *connection).await;
        faults.extend(found.unwrap_or_else(|error| panic!("{error}: {rule}")));
    }
    let granted = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("{OURS} {GRANTED}")));
    let granted: BTreeSet<String> = granted.fetch_all(connection).await.unwrap().into_iter().collect();
    let wanted: BTreeSet<String> = GRANTS.iter().map(|grant| (*grant).to_owned()).collect();
    faults.extend(granted.difference(&wanted).map(|grant| format!("not on the list of grants: {grant}")));
    faults.extend(wanted.difference(&granted).map(|grant| format!("on the list and not granted: {grant}")));
    faults
}
