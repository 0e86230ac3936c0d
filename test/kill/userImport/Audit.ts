import SQLite from "libsql";
import { z } from "zod";
import { databaseFile } from "../../../examples/user-import/agent.ts";
import { UserDatabase } from "../../../examples/user-import/database.ts";

const Row = z.object({ id: z.int(), name: z.string(), email: z.string(), city: z.string(), tool_call_id: z.string() });
const AuditRow = z.object({ kind: z.enum(["added", "removed"]), tool_call_id: z.string() });

/** A row of the table of users. */
export type StoredUser = z.infer<typeof Row>;
/** Something that was done to the table, by the call that added the row. */
export type AuditEntry = z.infer<typeof AuditRow>;

/** What the database of the example holds, and all that was ever done to it. */
export interface DatabaseState {
  readonly users: readonly StoredUser[];
  readonly audit: readonly AuditEntry[];
}

/** Makes the database keep an audit, each entry in the transaction that it tells of; entries are only ever added. */
export function keepAudit(directory: string): void {
  const file = databaseFile(directory);
  // The example makes its table.
  new UserDatabase(file)[Symbol.dispose]();
  const sqlite = new SQLite(file);
  sqlite.exec(`CREATE TABLE audit (at INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, tool_call_id TEXT NOT NULL);
    CREATE TRIGGER added AFTER INSERT ON users
      BEGIN INSERT INTO audit (kind, tool_call_id) VALUES ('added', new.tool_call_id); END;
    CREATE TRIGGER removed AFTER DELETE ON users
      BEGIN INSERT INTO audit (kind, tool_call_id) VALUES ('removed', old.tool_call_id); END;`);
  sqlite.close();
}

export function readDatabase(directory: string): DatabaseState {
  const sqlite = new SQLite(databaseFile(directory));
  const users = z.array(Row).parse(sqlite.prepare("SELECT * FROM users ORDER BY id").all());
  const audit = z.array(AuditRow).parse(sqlite.prepare("SELECT kind, tool_call_id FROM audit ORDER BY at").all());
  sqlite.close();
  return { users, audit };
}
