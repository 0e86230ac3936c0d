/** Answers to the settings that the storage reads or sets. A Durable Object makes them itself, and refuses the statements. */
const settings = {
  database_list: { name: "main", file: "durable object" },
  busy_timeout: { timeout: 1 },
  page_count: { page_count: 1 },
  journal_mode: { journal_mode: "wal" },
};

/**
 * The SQLite of a Durable Object for `SqlitePersistenceStorageProvider`. Statements without an `await` between them are
 * one transaction of a Durable Object, so BEGIN and COMMIT do nothing. Responses and requests of the object wait until
 * its writes are durable.
 */
export class DurableObjectDatabase {
  #state;

  constructor(state) {
    this.#state = state;
  }

  exec(sql) {
    // Drops the writes that are not committed, and the object with them.
    if (sql === "ROLLBACK") this.#state.abort("A transaction of the storage failed.");
    if (!/^(BEGIN|COMMIT|PRAGMA)/.test(sql)) this.#state.storage.sql.exec(sql);
  }

  prepare(sql) {
    if (sql.startsWith("PRAGMA ")) return { all: () => [settings[sql.slice(7)] ?? {}] };
    const execute = (values) =>
      this.#state.storage.sql.exec(
        sql,
        ...values.map((value) => (value instanceof Uint8Array ? bufferOf(value) : value)),
      );
    const all = (...values) => execute(values).toArray().map(withBytes);
    const run = (...values) => {
      const cursor = execute(values);
      cursor.toArray();
      return { changes: cursor.rowsWritten };
    };
    return { all, get: (...values) => all(...values)[0], run };
  }
}

function bufferOf(bytes) {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

function withBytes(row) {
  const cells = Object.entries(row);
  return Object.fromEntries(
    cells.map(([name, cell]) => [name, cell instanceof ArrayBuffer ? new Uint8Array(cell) : cell]),
  );
}
