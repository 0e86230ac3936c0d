import {
  persistence,
  strategy,
  type AgentContext,
  type AIAgent,
  type PendingRequest,
  type RunResult,
  type Strategy,
  type UnfinishedRun,
} from "agent-persistence";
import type { AgentSummary, LogPersistenceStorageProvider } from "agent-persistence/storage";

/** A strategy of one node, and one after it that gives back what it got. */
export function asking(body: (input: string, context: AgentContext) => Promise<string>): Strategy<string, string> {
  return strategy<string, string>("asking", (g) => {
    const ask = g.node("ask", body);
    const tell = g.node("tell", (text: string) => text);
    g.edge(g.start, ask);
    g.edge(ask, tell);
    g.edge(tell, g.finish);
  });
}

export function requestsOf(result: RunResult<unknown>): readonly PendingRequest[] {
  if (result.status !== "waiting") throw new Error(`The run is ${result.status}.`);
  return result.requests;
}

export const idsOf = (result: RunResult<unknown>): readonly string[] =>
  requestsOf(result).map(({ requestId }) => requestId);

/** @throws when it does not wait for just one. */
export function idOf(result: RunResult<unknown>): string {
  const [id, ...others] = idsOf(result);
  if (id === undefined || others.length > 0) throw new Error(`The run waits for ${others.length + 1} requests.`);
  return id;
}

export async function summaryOf(storage: LogPersistenceStorageProvider): Promise<AgentSummary | undefined> {
  for await (const summary of storage.log.list()) return summary;
  return undefined;
}

export async function unfinishedOf(agent: AIAgent<string, string>): Promise<readonly UnfinishedRun["status"][]> {
  const statuses: UnfinishedRun["status"][] = [];
  for await (const { status } of persistence(agent).unfinished()) statuses.push(status);
  return statuses;
}
