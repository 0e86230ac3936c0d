import { describe, expect, it } from "vitest";
import { invalidField } from "../../../src/checkpoint/format/validateRecord.ts";
import type { LogRecord } from "../../../src/checkpoint/records/Entry.ts";
import { InMemoryPersistenceStorageProvider, type PersistenceEvent, persistence } from "../../../src/index.ts";
import { redaction, type RedactionOptions } from "../../../src/encryption.ts";
import { Telemetry, type TelemetryOperation } from "../../../src/feature.ts";
import { exportAgent, importAgent } from "../../../src/transfer.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { chargingAgent, input, newWorld } from "../chargingAgent.ts";

const vault = { keys: testKeys("first") };

/** The names of the library that redaction could hide. */
const words = (
  "message content toolName toolCallId tool-call tool-result assistant system completed in_progress waiting cancelled " +
  "waitingFor user_input human_approval timeoutAt promptShownToUser completedAt finalOutput filesModified " +
  "verificationResults startedAt failedAt errorType errorMessage recoverable retryCount approval number history " +
  "checkpoint run_started run_ended after_node status_changed checkpoint_saved model_answered request_opened irreversible " +
  "problems expected path reason insert participants environment"
).split(" ");

class Kinds extends Telemetry {
  override readonly content = true;
  readonly operations: TelemetryOperation[] = [];

  override start(operation: TelemetryOperation): undefined {
    this.operations.push(operation);
    return undefined;
  }
}

/** Runs an agent to its second request, fails it once, and answers. Returns the kinds of all that it told. */
async function story(options: Partial<RedactionOptions>, secrets: unknown) {
  const storage = new InMemoryPersistenceStorageProvider();
  const events: PersistenceEvent[] = [];
  const telemetry = new Kinds();
  const redact = redaction({ ...options, vault });
  const onEvent = (event: PersistenceEvent) => void events.push(event);
  const agent = chargingAgent(storage, newWorld(), { redact, telemetry, onEvent });
  const durable = persistence(agent).agent("a");
  await agent.run({ ...input, email: secrets as string }, { agentId: "a", runId: "r" });
  await durable.answer((await durable.getRequests())[0]?.requestId ?? "", { approved: true });
  await agent.resume({ agentId: "a" });
  const told = {
    events: events.map(({ type, agentId, runId, ...event }) => ({
      type,
      agentId,
      runId,
      status: "status" in event && event.status,
      trigger: "trigger" in event && event.trigger,
      fields: "data" in event && Object.keys(event.data as object),
    })),
    telemetry: telemetry.operations.map(({ kind, agentId, status, toolName, effect }) => ({
      kind,
      agentId,
      status,
      toolName,
      effect,
    })),
  };
  return { storage, agent, told, redact };
}

async function rawRecords(storage: InMemoryPersistenceStorageProvider, agentId = "a"): Promise<readonly LogRecord[]> {
  return (await collect(storage.log.read(agentId))).flatMap(({ records }) => records);
}

describe.each<[string, Partial<RedactionOptions>, unknown]>([
  ["values at a path", { paths: ["input.email"] }, words],
  ["parts of texts", { text: (text) => text.replaceAll(/[a-z]{3}/g, "*") }, input.email],
  ["names that are paths", { paths: ["history", "data", "content", "role", "message", "toolName"] }, input.email],
])("redacted %s that equal names of the library", (_name, options, secrets) => {
  it("leave the names in records, events and telemetry", async () => {
    const { storage, told } = await story(options, secrets);
    const plain = await story({}, secrets);
    expect((await rawRecords(storage)).flatMap((record) => invalidField(record) ?? [])).toEqual([]);
    expect(told).toEqual(plain.told);
  });

  it("leave the agent ready for forks and imports", async () => {
    const { storage, agent, redact } = await story(options, secrets);
    await persistence(agent).agent("a").fork("fork");
    const archive = await collect(exportAgent(storage, "a"));
    for (const agentId of ["a", "import"]) {
      const target = new InMemoryPersistenceStorageProvider();
      await importAgent(
        target,
        (async function* () {
          yield* archive;
        })(),
        { agentId },
      );
      expect((await rawRecords(target, agentId)).length).toBeGreaterThan(10);
    }
    for (const agentId of ["a", "fork"]) {
      const durable = persistence(chargingAgent(storage, newWorld(), { redact })).agent(agentId);
      const [request] = await durable.getRequests();
      expect(request).toMatchObject({ kind: "input", prompt: "The PIN, TEXT-prompt-SECRET?" });
    }
  });
});
