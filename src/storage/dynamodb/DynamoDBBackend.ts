import type { AgentHeads } from "./slots/AgentHeads.ts";
import type { DynamoDBConnection } from "./items/DynamoDBConnection.ts";
import type { SlotChain } from "./slots/SlotChain.ts";
import type { SlotReader } from "./slots/SlotReader.ts";
import type { Summaries } from "./lists/Summaries.ts";

/** What the agents of one table share. */
export interface DynamoDBBackend {
  readonly connection: DynamoDBConnection;
  readonly heads: AgentHeads;
  readonly slots: SlotChain;
  readonly reader: SlotReader;
  readonly summaries: Summaries;
  /** When what a drop leaves may go, in seconds since 1970; `undefined`: it stays. */
  expires(): number | undefined;
}
