import type { FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { EmitEvent } from "../listeners/eventEmitter.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { setupOf } from "./config/PersistenceSetup.ts";

/** The part of Persistence for features with data outside the log. */
export interface PersistenceExtension {
  readonly tell: EmitEvent;
  readonly storage: PersistenceStorageProvider;
  /** Adds a function that deletes the data of a deleted agent outside the log. */
  onAgentDeleted(remove: (agentId: string) => Promise<void>): void;
}

/** Returns the extension of an agent definition. `undefined` if Persistence is not installed yet. */
export function extendPersistence(pipeline: FeaturePipeline): PersistenceExtension | undefined {
  const setup = setupOf(pipeline);
  const onAgentDeleted = (remove: (agentId: string) => Promise<void>) => void setup?.removals.push(remove);
  return setup && { tell: setup.tell, storage: setup.storageKey, onAgentDeleted };
}
