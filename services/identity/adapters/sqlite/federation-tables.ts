/** Issuers, policies, the audit log and claimed tokens. */
export const FEDERATION = [
  `CREATE TABLE issuers (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (organizationId),
    seq INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    settings TEXT NOT NULL,
    time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX issuers_seq ON issuers (organization_id, seq)',
  `CREATE TABLE issuer_health (
    issuer_id TEXT NOT NULL PRIMARY KEY REFERENCES issuers (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    health TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE policies (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (organizationId),
    seq INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    settings TEXT NOT NULL,
    time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL,
    issuer_id TEXT NOT NULL GENERATED ALWAYS AS (settings ->> '$.issuerId') STORED,
    workspace_id TEXT NOT NULL GENERATED ALWAYS AS (settings ->> '$.target.workspaceId') STORED,
    key_id TEXT NOT NULL GENERATED ALWAYS AS (settings ->> '$.target.keyId') STORED
  ) STRICT`,
  'CREATE UNIQUE INDEX policies_seq ON policies (organization_id, seq)',
  `CREATE TABLE audit_entries (
    organization_id TEXT NOT NULL REFERENCES organizations (organizationId),
    position INTEGER NOT NULL,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    policy_id TEXT,
    issuer_id TEXT,
    key_id TEXT,
    reason TEXT,
    subject TEXT,
    event TEXT NOT NULL,
    PRIMARY KEY (organization_id, position)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX audit_entries_time ON audit_entries (organization_id, time)',
  'CREATE INDEX audit_entries_policy ON audit_entries (organization_id, policy_id, position)',
  'CREATE INDEX audit_entries_issuer ON audit_entries (organization_id, issuer_id, position)',
  `CREATE INDEX audit_entries_kind ON audit_entries (organization_id, kind, position) WHERE kind <> 'exchange-accepted'`,
  ...['key_id', 'reason', 'subject'].map(
    (column) => `CREATE INDEX audit_entries_${column} ON audit_entries (organization_id, ${column}, position)
      WHERE ${column} IS NOT NULL`,
  ),
  // Only entries from before this time may be removed; it only moves forward.
  'CREATE TABLE audit_retention (id INTEGER PRIMARY KEY CHECK (id = 1), kept_from INTEGER NOT NULL) STRICT',
  'INSERT INTO audit_retention VALUES (1, 0)',
  refusal('audit_entries_update', 'UPDATE ON audit_entries'),
  refusal('audit_entries_delete', 'DELETE ON audit_entries', 'OLD.time >= (SELECT kept_from FROM audit_retention)'),
  // A row that replaces another one deletes it without firing a trigger.
  refusal(
    'audit_entries_replace',
    'INSERT ON audit_entries',
    `EXISTS (SELECT 1 FROM audit_entries WHERE organization_id = NEW.organization_id AND position = NEW.position)`,
  ),
  refusal('audit_retention_update', 'UPDATE ON audit_retention', 'NEW.kept_from < OLD.kept_from OR NEW.id <> OLD.id'),
  refusal('audit_retention_delete', 'DELETE ON audit_retention'),
  refusal('audit_retention_replace', 'INSERT ON audit_retention'),
  `CREATE TABLE replay_claims (
    hash TEXT NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX replay_claims_until ON replay_claims (until)',
  `CREATE TABLE deleted_policies (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (organizationId),
    issuer_id TEXT NOT NULL,
    -- JSON; null: not known.
    target TEXT,
    time INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
]

function refusal(name: string, event: string, condition = 'TRUE'): string {
  return `CREATE TRIGGER ${name} BEFORE ${event} WHEN ${condition}
    BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END`
}
