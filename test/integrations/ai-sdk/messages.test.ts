import { describe, expect, it } from "vitest";
import { aiSdkExecutor, UnsupportedMessagePartError } from "agent-persistence/ai-sdk";
import type { Message } from "../../../src/checkpoint/messages/Message.ts";
import { ask, executorOf } from "./ask.ts";
import { ChatServer, text } from "./ChatServer.ts";
import { fakeModel } from "./fakeModel.ts";

const pixel = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]);
const pixelBase64 = Buffer.from(pixel).toString("base64");

async function sentFor(...messages: readonly Message[]) {
  await using server = await ChatServer.start();
  server.next(text("ok"));
  await ask(executorOf(server), { messages });
  return server.requests[0]?.messages;
}

describe("messages over HTTP", () => {
  it("keep their order and roles", async () => {
    const sent = await sentFor(
      { role: "system", content: "Be brief." },
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: [{ type: "text", text: "Three" }] },
    );
    expect(sent).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Three" },
    ]);
  });

  it.each([
    ["bytes", pixel, `data:image/png;base64,${pixelBase64}`],
    ["base64", pixelBase64, `data:image/png;base64,${pixelBase64}`],
    ["a data URL", `data:image/png;base64,${pixelBase64}`, `data:image/png;base64,${pixelBase64}`],
    ["a URL", "https://example.org/ä.png", "https://example.org/%C3%A4.png"],
  ])("contain an image given as %s", async (_, data, url) => {
    const image = { type: "file" as const, data, mediaType: "image/png" };
    const sent = await sentFor({ role: "user", content: [{ type: "text", text: "What is it?" }, image] });
    expect(sent?.[0]?.content).toEqual([
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: { url } },
    ]);
  });

  it("omit empty texts and messages without other content", async () => {
    const sent = await sentFor(
      { role: "assistant", content: "" },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "text", text: "Hi" },
        ],
      },
    );
    expect(sent).toEqual([{ role: "user", content: "Hi" }]);
  });

  it.each([
    ["text", "as it is, 张伟", "as it is, 张伟"],
    ["JSON", { id: 1, tags: ["a"] }, '{"id":1,"tags":["a"]}'],
    ["nothing", undefined, "null"],
    ["a date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["a map, a set and a bigint", new Map<string, unknown>([["a", new Set([1n])]]), '{"a":["1"]}'],
    ["a map with keys that are no text", new Map([[1, "a"]]), '[[1,"a"]]'],
    ["bytes", { bytes: pixel, buffer: Buffer.from(pixel) }, `{"bytes":"${pixelBase64}","buffer":"${pixelBase64}"}`],
    ["numbers that JSON lacks", [Number.NaN, -Infinity], '["NaN","-Infinity"]'],
  ])("show the model %s as a tool's output", async (_, output, content) => {
    const sent = await sentFor({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "a", toolName: "t", output }],
    });
    expect(sent).toEqual([{ role: "tool", tool_call_id: "a", content }]);
  });
});

describe("messages to any model", () => {
  it("mark tool outputs that are errors", async () => {
    const model = fakeModel("v3", { content: [{ type: "text", text: "ok" }] });
    const result = { type: "tool-result" as const, toolCallId: "a", toolName: "t", isError: true };
    const content = [
      { ...result, output: "taken" },
      { ...result, output: { reason: "taken" } },
    ];
    await ask(aiSdkExecutor(model), { messages: [{ role: "tool", content }] });
    expect(model.prompts[0]).toMatchObject([
      {
        content: [
          { output: { type: "error-text", value: "taken" } },
          { output: { type: "error-json", value: { reason: "taken" } } },
        ],
      },
    ]);
  });

  it("encode files as the specification version requires", async () => {
    const files = [pixel, pixelBase64, "https://example.org/a.pdf"].map((data) => ({
      type: "file" as const,
      data,
      mediaType: "application/pdf",
      filename: "a.pdf",
    }));
    const dataFor = async (version: "v2" | "v3" | "v4") => {
      const model = fakeModel(version, { content: [{ type: "text", text: "ok" }] });
      await ask(aiSdkExecutor(model), { messages: [{ role: "user", content: files }] });
      const [message] = model.prompts[0] as { content: { data: unknown; filename: string }[] }[];
      expect(message?.content.map(({ filename }) => filename)).toEqual(["a.pdf", "a.pdf", "a.pdf"]);
      return message?.content.map(({ data }) => data);
    };
    const url = new URL("https://example.org/a.pdf");
    expect(await dataFor("v2")).toEqual([pixel, pixelBase64, url]);
    expect(await dataFor("v3")).toEqual([pixel, pixelBase64, url]);
    expect(await dataFor("v4")).toEqual([
      { type: "data", data: pixel },
      { type: "data", data: pixelBase64 },
      { type: "url", url },
    ]);
  });

  it("with a part that their role forbids are refused before a request is sent", async () => {
    const model = fakeModel("v3", {});
    const misplaced: Message = { role: "user", content: [{ type: "reasoning", text: "hm" }] };
    const failure = await ask(aiSdkExecutor(model), { messages: [misplaced] }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnsupportedMessagePartError);
    expect(failure).toMatchObject({ code: "unsupported_message_part", role: "user", partType: "reasoning" });
    expect(model.calls).toEqual([]);
  });
});
