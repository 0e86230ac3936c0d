import type { SqliteDatabase, SqliteValue } from "agent-persistence/sqlite";
import Database from "libsql";

declare global {
  /** Of `killBeforeCall.ts`. Absent: nobody counts. */
  var countCall: (() => void) | undefined;
}

/** A connection whose statements count as calls that a process may be killed before. */
export class CountedDatabase implements SqliteDatabase {
  readonly #database: SqliteDatabase;

  constructor(path: string) {
    this.#database = new Database(path);
  }

  exec(sql: string): unknown {
    globalThis.countCall?.();
    return this.#database.exec(sql);
  }

  prepare(sql: string): ReturnType<SqliteDatabase["prepare"]> {
    const statement = this.#database.prepare(sql);
    const counted =
      <Result>(method: (...values: SqliteValue[]) => Result) =>
      (...values: SqliteValue[]): Result => {
        globalThis.countCall?.();
        return method(...values);
      };
    return {
      run: counted((...values) => statement.run(...values)),
      get: counted((...values) => statement.get(...values)),
      all: counted((...values) => statement.all(...values)),
    };
  }
}
