import type { Clock } from "../internal/Clock.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { RollbackToolRegistry } from "./RollbackToolRegistry.ts";

/** How an agent is made durable. */
export interface PersistenceConfig {
  /** Where checkpoints go: any provider, whatever its filter. Default: `NoPersistenceStorageProvider`, which keeps nothing. */
  readonly storage?: PersistenceStorageProvider<never>;
  /**
   * A checkpoint of the input before the first node and of the state after each node, durable before the next starts.
   * Default true. When false only asked-for checkpoints are made; tool calls and the end of a run are still recorded.
   */
  readonly enableAutomaticPersistence?: boolean;
  /** What takes back the effects of tools when an agent is rolled back. Default: nothing does. */
  readonly rollbackToolRegistry?: RollbackToolRegistry;
  /** How long a move waits for tool calls in flight after aborting them, in milliseconds. Default 5,000. */
  readonly abortGraceMs?: number;
  /** Default: the machine's. */
  readonly clock?: Clock;
}
