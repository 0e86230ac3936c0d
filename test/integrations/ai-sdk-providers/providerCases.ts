import { sdks } from "../ai-sdk-agents/support/sdks.ts";
import { anthropic } from "./wire/anthropic.ts";
import { google } from "./wire/google.ts";
import { openaiChat } from "./wire/openaiChat.ts";
import { openaiResponses } from "./wire/openaiResponses.ts";

export const wires = [openaiResponses, openaiChat, anthropic, google];

/** Each provider with each version of the AI SDK. */
export const providerCases = sdks.flatMap((sdk) =>
  wires.map((wire) => ({ sdk, wire, version: sdk.version, name: wire.name })),
);
