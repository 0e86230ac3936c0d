import type { AgentInputItem } from "@openai/agents-core";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { PersistenceSession } from "agent-persistence/openai-agents";

interface MemorySessionOptions {
  readonly sessionId?: string;
  readonly initialItems?: readonly AgentInputItem[];
}

/** A PersistenceSession that is made as a MemorySession is. */
export class MemorySession extends PersistenceSession {
  /** Settles once the initial items are stored. */
  readonly ready: Promise<void>;

  constructor({ sessionId = crypto.randomUUID(), initialItems = [] }: MemorySessionOptions = {}) {
    super({ storage: new InMemoryPersistenceStorageProvider(), sessionId });
    this.ready = super.addItems([...initialItems]);
  }

  override async getItems(limit?: number): Promise<AgentInputItem[]> {
    await this.ready;
    return super.getItems(limit);
  }
}
