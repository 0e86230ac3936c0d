import { type PendingRequest, persistence } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { attackedAgent } from "./attackedAgent.ts";
import type { Ledger } from "./Ledger.ts";
import type { Life, VerbName } from "./Program.ts";

/** What a call of the public API acts on. */
export interface Scene {
  readonly storage: LogPersistenceStorageProvider;
  readonly ledger: Ledger;
  readonly nodes: Life["nodes"];
  readonly agentId: string;
  /** Takes one of several. */
  readonly at: number;
}

export function agentOf({ storage, ledger, nodes }: Scene) {
  return attackedAgent(storage, ledger, nodes);
}

function durableOf(scene: Scene) {
  return persistence(agentOf(scene)).agent(scene.agentId);
}

export async function agentIdsIn({ log }: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { agentId } of log.list()) ids.push(agentId);
  return ids.toSorted();
}

async function checkpointOf(scene: Scene): Promise<string> {
  const checkpoints = await durableOf(scene).getCheckpoints();
  return checkpoints[scene.at % checkpoints.length]?.checkpointId ?? "none";
}

/** Says yes to a request. The approval is in the ledger before anybody can use it. */
export async function approve(scene: Scene, request: PendingRequest): Promise<void> {
  const { requestId, kind } = request;
  scene.ledger.add({ what: "approve", agentId: scene.agentId, id: requestId });
  if (kind !== "approval") return durableOf(scene).answer(requestId, true);
  await durableOf(scene).answer(requestId, { approved: true }, { digest: request.digest });
}

/** Settles what is in doubt by the ledger. */
export async function settleAll(scene: Scene): Promise<void> {
  const durable = durableOf(scene);
  for (const { toolCallId, toolName, reverts } of await durable.getToolCallsInDoubt()) {
    const stands = scene.ledger.stands(reverts ?? toolCallId);
    const isDone = reverts === undefined ? stands : !stands;
    if (isDone) await durable.settleToolCall(toolCallId, { output: reverts === undefined ? toolCallId : undefined });
    else await durable.settleToolCall(toolCallId, toolName === "pay" ? { error: "It did not happen." } : "retry");
  }
}

const newId = ({ storage }: Scene) => agentIdsIn(storage).then((ids) => `b${ids.length}`);

export const verbs: Readonly<Record<VerbName, (scene: Scene) => Promise<unknown>>> = {
  run: (scene) => agentOf(scene).run([], { agentId: scene.agentId, runId: "r" }),
  resume: (scene) => agentOf(scene).resume({ agentId: scene.agentId }),
  answer: async (scene) => {
    const requests = await durableOf(scene).getRequests();
    const request = requests[scene.at % requests.length];
    if (request) await approve(scene, request);
  },
  reject: async (scene) => {
    const requests = await durableOf(scene).getRequests();
    const request = requests[scene.at % requests.length];
    if (request) await durableOf(scene).reject(request.requestId, "no");
  },
  cancel: (scene) => durableOf(scene).cancel("enough"),
  rollback: async (scene) => durableOf(scene).rollbackToCheckpoint(await checkpointOf(scene)),
  rollbackToLatest: (scene) => durableOf(scene).rollbackToLatestCheckpoint(),
  messagesOnly: async (scene) =>
    durableOf(scene).rollbackToCheckpoint(await checkpointOf(scene), { rollbackStrategy: "message_history_only" }),
  executionPoint: (scene) => durableOf(scene).setExecutionPoint({ nodeId: "begin", input: [] }),
  branch: async (scene) => agentOf(scene).resume({ agentId: scene.agentId, checkpointId: await checkpointOf(scene) }),
  edit: async (scene) =>
    durableOf(scene).editCheckpoint(await checkpointOf(scene), {
      by: "me",
      reason: "a test",
      messageHistory: () => [],
    }),
  fork: async (scene) => durableOf(scene).fork(await newId(scene)),
  forkAt: async (scene) => durableOf(scene).fork(await newId(scene), { checkpointId: await checkpointOf(scene) }),
  copy: async (scene) =>
    importAgent(scene.storage, exportAgent(scene.storage, scene.agentId), { agentId: await newId(scene) }),
  name: async (scene) => durableOf(scene).nameCheckpoint(await checkpointOf(scene), "named"),
  note: (scene) => durableOf(scene).note({ key: "k", value: 1 }),
  prune: (scene) => persistence(agentOf(scene)).prune({ agentId: scene.agentId, policy: { maxCheckpoints: 3 } }),
  settle: settleAll,
  takeOver: (scene) => durableOf(scene).takeOver(),
  read: async (scene) => [await durableOf(scene).getMessages(), await durableOf(scene).checkpointTree()],
};
