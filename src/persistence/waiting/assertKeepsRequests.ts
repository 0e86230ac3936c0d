import type { InputRequestEvent } from "../../agent/feature/PipelineEvents.ts";
import { WaitingNotSupportedError } from "../../errors/requestErrors.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";

export function assertKeepsRequests({ journal, setup }: RunRecorder, { nodeId }: InputRequestEvent): void {
  if (setup.log.capabilities.keeps !== undefined) throw new WaitingNotSupportedError(journal.agentId, nodeId);
}
