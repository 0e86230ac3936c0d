import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { Decision } from "../context/AgentContext.ts";
import type { RecordedRequirements } from "./RecordedRequirements.ts";
import type { RunSettings } from "./RunSettings.ts";

/** Plain data that a run's state is made from. */
export interface RunStateSeed {
  /** Absent: a fresh history, which begins with the agent's system prompt. */
  readonly messages?: readonly NumberedMessage[];
  /** What comes after `messages` and is in no log yet. Absent: nothing. */
  readonly added?: readonly Message[];
  /** The first message number that is free in the agent's log; default 1. */
  readonly nextMessage?: number;
  /** Stored values by key; each is checked when it is first read. Absent: none. */
  readonly storage?: ReadonlyMap<string, unknown>;
  /** Absent: those of the agent's configuration. */
  readonly settings?: RunSettings;
  /** Nodes completed so far; default 0. */
  readonly iteration?: number;
  /** 0 to 100; absent: not set. */
  readonly progress?: number;
  readonly progressSummary?: string;
  /** Decisions already recorded; default none. */
  readonly decisions?: readonly Decision[];
  readonly requirements?: RecordedRequirements;
}
