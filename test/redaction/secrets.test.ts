import { describe, expect, it } from "vitest";
import { type PersistenceEvent, persistence } from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { Telemetry, type TelemetryOperation, type TelemetrySpan } from "../../src/feature.ts";
import { AgentInspector } from "../../src/inspect.ts";
import { createFixture } from "../../src/replay.ts";
import { timelinePage } from "../../src/timeline.ts";
import { exportAgent } from "../../src/transfer.ts";
import { openBooks } from "../encryption/storedBytes.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { chargingAgent, input, newWorld, redactionOptions, secretIn, secrets, textSecretIn } from "./chargingAgent.ts";

class Shown extends Telemetry {
  override readonly content = true;
  readonly texts: string[] = [];

  override start(operation: TelemetryOperation): TelemetrySpan {
    this.texts.push(JSON.stringify(operation));
    return {
      run: (action) => action(),
      end: (facts, failure) => this.texts.push(JSON.stringify(facts), String(failure?.error)),
    };
  }
}

const found = (text: string) => secrets.filter((secret) => text.includes(secret));

describe.each(Object.entries(openBooks))("a storage %s", (name, open) => {
  it("contains no redacted value, while runs have them, and every value without", { timeout: 60_000 }, async () => {
    for (const redacted of [false, true]) {
      const { storage, bytes } = await open();
      const world = newWorld();
      const telemetry = new Shown();
      const events: PersistenceEvent[] = [];
      const redact = redacted ? redaction(redactionOptions) : undefined;
      const config = { redact, telemetry, onEvent: (event: PersistenceEvent) => void events.push(event) };
      const agent = chargingAgent(storage, world, config);
      const durable = persistence(agent).agent("a");
      expect((await agent.run(input, { agentId: "a", runId: "r" })).status).toBe("waiting");
      const [approval] = await durable.getRequests();
      expect(approval).toMatchObject({ kind: "approval", input: { cause: secretIn("cause") } });
      await durable.answer(approval?.requestId ?? "", { approved: true, reason: textSecretIn("reason") });
      expect((await agent.resume({ agentId: "a" })).status).toBe("waiting");
      const [request] = await durable.getRequests();
      await durable.answer(request?.requestId ?? "", { pin: secretIn("pin") });
      await durable.send("news", { code: secretIn("payload") });
      const result = await agent.resume({ agentId: "a" });
      expect(result).toMatchObject({ status: "completed", output: { total: secretIn("total"), pin: secretIn("pin") } });
      expect(JSON.stringify(world.asked.at(-1))).toContain(secretIn("receipt"));
      const inspector = new AgentInspector(storage);
      const archive = await collect(exportAgent(storage, "a"));
      const places = {
        stored: (await bytes()).toString("latin1"),
        archive: Buffer.concat(archive).toString("latin1"),
        events: JSON.stringify(events),
        telemetry: telemetry.texts.join("\n"),
        page: (await collect(timelinePage(inspector, "a", { secrets: "show" }))).join(""),
        fixture: JSON.stringify(await createFixture(storage, { agentId: "a", secrets: "show" })),
      };
      if (redacted) {
        expect(Object.fromEntries(Object.entries(places).map(([key, text]) => [key, found(text)]))).toEqual(
          Object.fromEntries(Object.keys(places).map((key) => [key, []])),
        );
        expect(places.stored).not.toContain("1234567");
        expect(places.stored).toContain("****");
      } else if (name === "in memory") {
        expect(found(places.stored)).toEqual(secrets);
        for (const key of ["archive", "events", "telemetry", "page", "fixture"] as const)
          expect([key, found(places[key]).length > 2]).toEqual([key, true]);
      }
      await durable.rollbackToCheckpoint((await durable.getCheckpoints())[0]?.checkpointId ?? "");
      expect(world.reversed).toMatchObject([
        { given: { card: { number: secretIn("card"), cvv: 1_234_567 } }, output: { receipt: secretIn("receipt") } },
      ]);
      if (redacted) expect(found((await bytes()).toString("latin1"))).toEqual([]);
    }
  });
});
