import { readFile, writeFile } from "node:fs/promises";
import { turnsOf, type OpenConversation, type TurnFigures } from "./turns.ts";

export type Talker = "ours" | "sqlite-delta" | "sqlite-full" | "memory-delta";

/** LangGraph's turns grow with those before them: 1,000 of them take minutes with each saver. */
const theirTurns = [1, 100, 300];
const ourTurns = [1, 100, 300, 1_000, 5_000];

export async function conversations(talker: Talker, directory: string): Promise<readonly TurnFigures[]> {
  const live = `${directory}-live.json`;
  return turnsOf(await opener(talker), {
    turns: talker === "ours" ? ourTurns : theirTurns,
    directory,
    survives: talker !== "memory-delta",
    parse: async (messages) => {
      await writeFile(live, JSON.stringify(messages));
      return async () => void JSON.parse(await readFile(live, "utf8"));
    },
  });
}

async function opener(talker: Talker): Promise<OpenConversation> {
  if (talker === "ours") return (await import("./ours/conversations.ts")).openAgent;
  const theirs = (await import(new URL("./langgraph/conversations.ts", import.meta.url).href)) as LangGraphModule;
  const [saver, channel] = talker.split("-") as ["memory" | "sqlite", "delta" | "full"];
  return theirs.openGraph(saver, channel);
}

/** The part of `langgraph/conversations.ts` that is used, so that types do not need LangGraph. */
interface LangGraphModule {
  openGraph(saver: "memory" | "sqlite", channel: "delta" | "full"): OpenConversation;
}
