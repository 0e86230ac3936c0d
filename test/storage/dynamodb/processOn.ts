import { type DynamoDBClient, DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import type { OwnedLog, RecordLog } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { isWrite, WatchedDynamoDB } from "./support/WatchedDynamoDB.ts";

const leaseMs = 15_000;

/** A process that uses a table, with a clock of its own. */
export interface TableProcess {
  readonly client: WatchedDynamoDB;
  readonly clock: SimulatedClock;
  readonly log: RecordLog;
}

export function processOn(database: DynamoDBClient, tableName = "agents"): TableProcess {
  const [client, clock] = [new WatchedDynamoDB(database), new SimulatedClock()];
  const options = { client, tableName, clock, leaseMs, processIdentity: anyProcess };
  return { client, clock, log: new DynamoDBPersistenceStorageProvider(options).log };
}

/** The agent "a" for a process that owns it as the first one. */
export function opened({ log }: TableProcess): Promise<OwnedLog> {
  return log.open("a", { host: "h", processId: 1, nonce: "first" });
}

/** The agent "a", once the owner before was silent for a lease. */
export async function takenOver({ log, clock }: TableProcess): Promise<OwnedLog> {
  const next = { host: "h", processId: 1, nonce: "next" };
  const error: unknown = await log.open("a", next).catch((reason: unknown) => reason);
  if ((Object(error) as { readonly code?: unknown }).code !== "agent_busy") throw error;
  clock.advance(leaseMs);
  return log.open("a", next);
}

/** Ends a process after so many writes of an action. True: the action ended before. */
export async function stopped(
  client: WatchedDynamoDB,
  after: number,
  action: () => Promise<unknown>,
): Promise<boolean> {
  let writes = 0;
  const end = new Promise<false>((resolve) => {
    client.onRequest = (method) => {
      if (!isWrite(method) || writes++ < after) return;
      resolve(false);
      return new Promise(() => {});
    };
  });
  return Promise.race([end, action().then(() => true)]);
}

/** How a call ends when time passes until it has. */
export async function settled<Result>(
  { clock, client }: TableProcess,
  call: Promise<Result>,
): Promise<PromiseSettledResult<Result>> {
  let ended = false;
  const outcome = Promise.allSettled([call]).finally(() => (ended = true));
  while (!ended) {
    await client.idle();
    await nextTurn();
    if (!ended) clock.advance(100);
  }
  return (await outcome)[0];
}
