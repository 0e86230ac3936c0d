import type { AgentHeads } from "./slots/AgentHeads.ts";
import type { DynamoDBConnection } from "./items/DynamoDBConnection.ts";
import type { SlotChain } from "./slots/SlotChain.ts";
import type { SlotReader } from "./slots/SlotReader.ts";
import type { Summaries } from "./lists/Summaries.ts";

export interface DynamoDBBackend {
  readonly connection: DynamoDBConnection;
  readonly heads: AgentHeads;
  readonly slots: SlotChain;
  readonly reader: SlotReader;
  readonly summaries: Summaries;
  /**
   * Returns when the remaining items of a dropped agent expire, in seconds since 1970. `undefined` if they are kept.
   */
  expires(): number | undefined;
}
