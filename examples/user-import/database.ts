import SQLite from "libsql";
import type { Person } from "./people.ts";

export interface User extends Person {
  readonly id: number;
}

export interface SignUp {
  readonly user: User;
  /** Whether this call added the user; `false`: the same call had added the user before. */
  readonly added: boolean;
}

/** The sign-ups, in a SQLite file. */
export class UserDatabase {
  readonly #sqlite: SQLite.Database;

  constructor(file: string) {
    this.#sqlite = new SQLite(file);
    // Only the id of the tool call prevents a second sign-up: e-mails are not unique here, so that the demo would show
    // a duplicate.
    this.#sqlite.exec(`CREATE TABLE IF NOT EXISTS users (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      email TEXT NOT NULL,
      city TEXT NOT NULL,
      tool_call_id TEXT NOT NULL UNIQUE
    )`);
  }

  /** Signs a person up. The same call again returns the user whom it added first. */
  add({ name, email, city }: Person, toolCallId: string): SignUp {
    const { changes } = this.#sqlite
      .prepare("INSERT INTO users (name, email, city, tool_call_id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
      .run(name, email, city, toolCallId);
    const user = this.#sqlite.prepare("SELECT id, name, email, city FROM users WHERE tool_call_id = ?").get(toolCallId);
    return { user: user as User, added: changes > 0 };
  }

  /** Undoes that call; repeating it does nothing. */
  remove(toolCallId: string): void {
    this.#sqlite.prepare("DELETE FROM users WHERE tool_call_id = ?").run(toolCallId);
  }

  all(): readonly User[] {
    return this.#sqlite.prepare("SELECT id, name, email, city FROM users ORDER BY id").all() as User[];
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}
