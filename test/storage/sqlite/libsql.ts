import type { SqliteDatabase, SqliteValue } from "agent-persistence/sqlite";
import Database from "libsql";

/** A connection of libsql. */
export function libsql(path: string): SqliteDatabase {
  return new Database(path);
}

/** A connection whose next write is carried out and then reported as failed. */
export class AnswerLosingDatabase implements SqliteDatabase {
  losesAnswer = false;
  /** What a failing write throws. */
  error: Error = Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  readonly #database: SqliteDatabase;
  #open = false;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  exec(sql: string): unknown {
    const result = this.#database.exec(sql);
    if (sql.startsWith("BEGIN")) this.#open = true;
    if (sql.startsWith("ROLLBACK")) this.#open = false;
    if (sql.startsWith("COMMIT")) {
      this.#open = false;
      this.#answer();
    }
    return result;
  }

  prepare(sql: string): ReturnType<SqliteDatabase["prepare"]> {
    const statement = this.#database.prepare(sql);
    const writes = /^\s*(INSERT|UPDATE|DELETE)/.test(sql);
    const call = <Result>(method: (...values: SqliteValue[]) => Result, values: SqliteValue[]): Result => {
      const result = method.apply(statement, values);
      if (writes && !this.#open) this.#answer();
      return result;
    };
    return {
      run: (...values) => call(statement.run.bind(statement), values),
      get: (...values) => call(statement.get.bind(statement), values),
      all: (...values) => call(statement.all.bind(statement), values),
    };
  }

  #answer(): void {
    if (!this.losesAnswer) return;
    this.losesAnswer = false;
    throw this.error;
  }
}
