import type { AgentSummary, LogPersistenceStorageProvider } from "agent-persistence/storage";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";
import { agentDirectory, agentId } from "../worker/identity.ts";
import { Ledger } from "../worker/Ledger.ts";
import type { WorkerOptions } from "../worker/WorkerOptions.ts";

/**
 * Everything a finished run leaves, as plain JSON, without what differs between any two runs: times, receipts (each
 * stands for the call that the ledger has it from) and, where they are new at each request, the model's own call ids.
 */
export async function readEndState(
  directory: string,
  ids: WorkerOptions["toolCallIds"],
  place: StoragePlace = { engine: "file", directory: agentDirectory(directory) },
): Promise<unknown> {
  const storage = await storageAt(place);
  const checkpoints = await storage.getCheckpoints(agentId);
  const latest = await storage.getLatestCheckpoint(agentId);
  using ledger = new Ledger(directory);
  const rows = ledger.rows();
  const receipts = new Map(rows.map(({ receipt, toolCallId }) => [receipt, `receipt of ${toolCallId}`]));
  const state = {
    rows,
    summaries: (await summariesOf(storage)).map(({ status, runId }) => ({ status, runId })),
    checkpoints: checkpoints.map(({ version, nodeId, iteration, toolCalls }) => ({
      version,
      nodeId,
      iteration,
      calls: toolCalls
        .map(({ toolCallId, toolName, input, status, output }) => ({ toolCallId, toolName, input, status, output }))
        .sort((a, b) => a.toolCallId.localeCompare(b.toolCallId)),
    })),
    latest: latest && {
      version: latest.version,
      nodeId: latest.nodeId,
      runId: latest.runId,
      status: latest.status,
      output: latest.lastInput,
      iteration: latest.iteration,
      messageHistory: latest.messageHistory,
      storage: latest.storage,
      model: latest.model,
      modelParameters: latest.modelParameters,
      tools: latest.tools,
      progress: latest.progress,
      progressSummary: latest.progressSummary,
      decisions: latest.decisions.map(({ decision, reason, nodeId }) => ({ decision, reason, nodeId })),
      requires: latest.recoveryInfo.environment,
      strategyFingerprint: latest.strategyFingerprint,
    },
  };
  const text = JSON.stringify(state, (key, value: unknown) => {
    if (key === "providerToolCallId" && ids === "unique") return undefined;
    return typeof value === "string" ? (receipts.get(value) ?? value) : value;
  });
  return JSON.parse(text);
}

async function summariesOf({ log }: LogPersistenceStorageProvider): Promise<readonly AgentSummary[]> {
  const summaries: AgentSummary[] = [];
  for await (const summary of log.list()) summaries.push(summary);
  return summaries;
}
