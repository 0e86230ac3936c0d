import { type Checkpoint, type CheckpointMetadata, uuid6 } from "@langchain/langgraph-checkpoint";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { PersistenceSaver } from "../../../src/integrations/langgraph/PersistenceSaver.ts";
import type { PersistenceSaverOptions } from "../../../src/integrations/langgraph/saver/saverOptions.ts";

export interface Saved {
  readonly configurable: { readonly thread_id: string; readonly checkpoint_ns: string; readonly checkpoint_id: string };
}

let clock = 0;

/** A thread that a test writes as LangGraph does. */
export class SavedThread {
  readonly storage: PersistenceSaverOptions["storage"];
  readonly saver: PersistenceSaver;
  readonly config = { configurable: { thread_id: "order-7" } };

  constructor(options: Partial<PersistenceSaverOptions> = {}) {
    this.storage = options.storage ?? new InMemoryPersistenceStorageProvider();
    this.saver = new PersistenceSaver({ ...options, storage: this.storage });
  }

  /** Puts a checkpoint in which every channel that is given is new. */
  async put(
    parent: Saved | undefined,
    values: Record<string, unknown>,
    options: {
      source?: CheckpointMetadata["source"];
      id?: string;
      versions?: Record<string, number>;
      saver?: PersistenceSaver;
    } = {},
  ): Promise<Saved> {
    const versions = options.versions ?? Object.fromEntries(Object.keys(values).map((channel) => [channel, ++clock]));
    const checkpoint: Checkpoint = {
      v: 4,
      id: options.id ?? uuid6(clock),
      ts: new Date(0).toISOString(),
      channel_values: values,
      channel_versions: versions,
      versions_seen: {},
    };
    const { saver = this.saver, source = "loop" } = options;
    const config = parent ?? this.config;
    return (await saver.put(config, checkpoint, { source, step: clock, parents: {} }, versions)) as Saved;
  }

  async values(config: Saved | undefined, saver = this.saver): Promise<Record<string, unknown> | undefined> {
    return (await saver.getTuple(config ?? this.config))?.checkpoint.channel_values;
  }
}

export async function gathered<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
