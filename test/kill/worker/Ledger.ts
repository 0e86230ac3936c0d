import { join } from "node:path";
import SQLite from "libsql";
import { z } from "zod";

const Row = z.object({
  toolCallId: z.string(),
  tool: z.string(),
  account: z.string(),
  amount: z.number(),
  receipt: z.string(),
});
export type Row = z.infer<typeof Row>;

/** What the tools did to the world, in a real SQLite file. */
export class Ledger implements Disposable {
  readonly #sqlite: SQLite.Database;

  constructor(directory: string) {
    this.#sqlite = new SQLite(join(directory, "ledger.db"));
    // The ledger outlives the process, not the machine: only processes are killed here.
    this.#sqlite.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
      CREATE TABLE IF NOT EXISTS entries (
        toolCallId TEXT NOT NULL UNIQUE,
        tool TEXT NOT NULL,
        account TEXT NOT NULL,
        amount INTEGER NOT NULL,
        receipt TEXT NOT NULL
      )`);
  }

  /** Books once for each call: the id of the call is the key. Gives the receipt of the first time. */
  book({ toolCallId, tool, account, amount, receipt }: Row): string {
    this.#sqlite
      .prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
      .run(toolCallId, tool, account, amount, receipt);
    const row = this.#sqlite.prepare("SELECT receipt FROM entries WHERE toolCallId = ?").get(toolCallId);
    return z.object({ receipt: z.string() }).parse(row).receipt;
  }

  rows(): readonly Row[] {
    const rows = this.#sqlite
      .prepare("SELECT toolCallId, tool, account, amount, receipt FROM entries ORDER BY toolCallId")
      .all();
    return z.array(Row).parse(rows);
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}
