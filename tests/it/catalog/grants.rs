//! Every right that is granted, to anybody but the owner. A new one is added here on purpose, or not at all.

/// The role, the relation, and what it may do.
pub const GRANTS: &[&str] = &[
    // The service, in its own tenant. What it does not need for a request of a tenant is the operator's.
    "memtide_app _sqlx_migrations SELECT",
    "memtide_app audit_log INSERT,SELECT",
    "memtide_app events INSERT",
    "memtide_app idempotency_keys DELETE,INSERT,SELECT,UPDATE",
    "memtide_app memories DELETE,INSERT,SELECT,UPDATE",
    "memtide_app memory_terms DELETE,INSERT,SELECT",
    "memtide_app memory_vectors DELETE,INSERT,SELECT,UPDATE",
    "memtide_app memory_versions INSERT,SELECT",
    "memtide_app models SELECT",
    "memtide_app namespace_counts INSERT,SELECT,UPDATE",
    "memtide_app namespaces INSERT,SELECT,UPDATE",
    "memtide_app revocations INSERT,SELECT",
    "memtide_app tenants SELECT",
    "memtide_app working_memory_configs INSERT,SELECT,UPDATE",
    // Work across tenants. The audit log is written and, with its tenant, erased; never changed.
    "memtide_operator api_keys DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator audit_log DELETE,INSERT,SELECT",
    "memtide_operator events DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator idempotency_keys DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator memories DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator memory_terms DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator memory_vectors DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator memory_versions DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator models INSERT,SELECT",
    "memtide_operator namespace_counts DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator namespaces DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator operator_keys DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator personal_tokens DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator revocations DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator signing_keys DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator tenants DELETE,INSERT,SELECT,UPDATE",
    "memtide_operator working_memory_configs DELETE,INSERT,SELECT,UPDATE",
];
