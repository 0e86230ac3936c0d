import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableRun } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { recordingTelemetry } from "../otel/tracedAgent.ts";
import { scriptedModel, text } from "./support/scriptedModel.ts";
import { sdks } from "./support/sdks.ts";

const names = ["gen_ai.request.model", "gen_ai.provider.name"];

describe.each(sdks)("telemetry of a durable run of the AI SDK $version", (sdk) => {
  it("names the model of each request, and another model repeats no recorded request", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const ask = async (modelId: string, end: () => void) => {
      const model = scriptedModel([text("Hello.")], sdk, modelId);
      const { telemetry, spans } = recordingTelemetry();
      const run = durableRun({ storage, agentId: "a", telemetry }, async (durable) => {
        await sdk.ai.generateText({ model: durable.model(model), prompt: "Hello?" });
        end();
      });
      await run.catch(() => undefined);
      const chats = spans().filter(({ attributes }) => attributes["gen_ai.operation.name"] === "chat");
      return { asked: model.asked.length, chats: chats.map(({ attributes }) => names.map((name) => attributes[name])) };
    };
    const fails = () => {
      throw new Error("down");
    };
    expect(await ask("small-1", fails)).toEqual({ asked: 1, chats: [["small-1", "test"]] });
    expect(await ask("small-2", () => undefined)).toEqual({ asked: 0, chats: [["small-2", "test"]] });
  });

  it("shows responses but no prompts if content is enabled", async () => {
    const { telemetry, named } = recordingTelemetry({ content: true });
    const model = scriptedModel([text("Hello.")], sdk);
    await durableRun({ storage: new InMemoryPersistenceStorageProvider(), agentId: "a", telemetry }, (durable) =>
      sdk.ai.generateText({ model: durable.model(model), prompt: "Hello?" }).then(() => null),
    );
    const { attributes = {} } = named("chat scripted")[0] ?? {};
    expect(attributes["gen_ai.output.messages"]).toContain("Hello.");
    expect(attributes).not.toHaveProperty("gen_ai.input.messages");
  });
});
