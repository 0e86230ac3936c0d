import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AgentInputItem, Session } from "@openai/agents-core";

/** A session as others write them: a file of JSON, which knows nothing of durable runs. */
export class FileSession implements Session {
  readonly #path: string;
  readonly #reached: (place: string) => void;

  /** @param reached is told before and after items are added, with how many there are then. */
  constructor(path: string, reached: (place: string) => void = () => {}) {
    this.#path = path;
    this.#reached = reached;
  }

  async getSessionId(): Promise<string> {
    return this.#path;
  }

  async getItems(limit = Number.POSITIVE_INFINITY): Promise<AgentInputItem[]> {
    const items = this.#read();
    return items.slice(Math.max(items.length - limit, 0));
  }

  async addItems(added: AgentInputItem[]): Promise<void> {
    const items = [...this.#read(), ...added];
    this.#reached(`adding ${items.length}`);
    this.#write(items);
    this.#reached(`added ${items.length}`);
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const items = this.#read();
    const last = items.pop();
    this.#write(items);
    return last;
  }

  async clearSession(): Promise<void> {
    this.#write([]);
  }

  #read(): AgentInputItem[] {
    return existsSync(this.#path) ? (JSON.parse(readFileSync(this.#path, "utf8")) as AgentInputItem[]) : [];
  }

  #write(items: readonly AgentInputItem[]): void {
    writeFileSync(this.#path, JSON.stringify(items));
  }
}
