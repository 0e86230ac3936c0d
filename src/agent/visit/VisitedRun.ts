import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { AgentRun } from "../feature/AgentRun.ts";
import type { Pipeline } from "../feature/Pipeline.ts";
import type { RunStart } from "../feature/RunStart.ts";

/** The run that a visit belongs to, with what the execution of a node needs beside what features see. */
export interface VisitedRun extends AgentRun {
  readonly definition: AgentDefinition;
  readonly pipeline: Pipeline;
  readonly sha256: Sha256;
  /** Where the run began, or continued after the last move. */
  readonly position: RunStart;
}
