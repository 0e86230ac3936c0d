import { createGoogleGenerativeAI } from "@ai-sdk/google";
import type { Tool } from "ai";
import { createGoogleGenerativeAI as createGoogle7 } from "google7";
import { piecesOf, type Turn, type Wire } from "./Wire.ts";

type Part = Readonly<Record<string, unknown>>;

/** The Gemini API of Google. */
export const google: Wire = {
  name: "google.generative-ai",
  model: ({ version }, baseURL) => creatorOf(version)({ baseURL, apiKey: "secret" })("gemini-3-pro-preview"),
  hostedTools: ({ version }) => ({
    // Its optional fields have other types than those of a tool.
    code_execution: creatorOf(version)({ apiKey: "secret" }).tools.codeExecution({}) as Tool,
  }),
  isStreamed: (path) => path.includes(":streamGenerateContent"),
  resultsIn: ({ contents }) =>
    (contents as { parts: Part[] }[]).flatMap(({ parts }) => parts).filter((part) => "functionResponse" in part).length,
  whole: (turn, index) => chunkOf(index, partsOf(turn, index), endOf(turn)),
  events: (turn, index) => {
    const pieces = partsOf(turn, index).flatMap((part) =>
      typeof part["text"] === "string" ? piecesOf(part["text"]).map((text) => ({ ...part, text })) : [part],
    );
    return [...pieces.map((part) => chunkOf(index, [part])), chunkOf(index, [{ text: "" }], endOf(turn))];
  },
};

function creatorOf(version: 6 | 7): typeof createGoogleGenerativeAI {
  // The types of version 7 are those of another package.
  return version === 6 ? createGoogleGenerativeAI : (createGoogle7 as unknown as typeof createGoogleGenerativeAI);
}

function endOf({ hosted }: Turn) {
  return {
    finishReason: "STOP",
    ...(hosted !== undefined && {
      groundingMetadata: {
        webSearchQueries: [hosted],
        groundingChunks: [{ web: { uri: "https://example.org/7", title: "Order 7" } }],
      },
    }),
  };
}

function chunkOf(index: number, parts: readonly Part[], end: object = {}) {
  return {
    candidates: [{ content: { parts, role: "model" }, index: 0, ...end }],
    usageMetadata: {
      promptTokenCount: 20,
      candidatesTokenCount: 6,
      thoughtsTokenCount: 3,
      totalTokenCount: 29,
      cachedContentTokenCount: 4,
    },
    modelVersion: "gemini-3-pro-preview",
    responseId: `response-${index}`,
  };
}

function partsOf({ reasoning, hosted, text, calls = [] }: Turn, index: number): readonly Part[] {
  return [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...(hosted === undefined
      ? []
      : [
          { executableCode: { language: "PYTHON", code: `print("${hosted}")` }, thoughtSignature: `code ${index}` },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: `${hosted}\n` } },
        ]),
    ...(text === undefined ? [] : [{ text }]),
    // The first of parallel calls alone has the signature.
    ...calls.map(({ toolName, input }, at) => ({
      functionCall: { name: toolName, args: input },
      ...(at === 0 && { thoughtSignature: `signature ${index}` }),
    })),
  ];
}
