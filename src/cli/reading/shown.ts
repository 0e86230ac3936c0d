import type { ShownValue, MessageView, FileChangeView, FileStateView, AgentInspector } from "../../inspect.ts";
import type { Session } from "../session/Session.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import type { Output } from "../terminal/Output.ts";
import { type Part, painted, plain, type Paint, type Painted } from "../terminal/painted.ts";
import { shortValue, bytesText } from "../terminal/shortTexts.ts";
import { resolve } from "node:path";
import type { CommandIo } from "../terminal/CommandIo.ts";
import type { TokenPrices } from "../../timeline.ts";
import { readJson } from "../storage/commandFiles.ts";

const changePaints: Readonly<Record<FileChangeView["change"], Paint>> = {
  created: "green",
  modified: "yellow",
  deleted: "red",
};

const longest = 4_000;

const paints: Readonly<Record<string, Paint>> = {
  in_progress: "cyan",
  waiting: "yellow",
  paused: "yellow",
  queued: "blue",
  completed: "green",
  failed: "red",
  cancelled: "dim",
  unreadable: "red",
  moving: "magenta",
  moved: "dim",
  copied: "dim",
};

export function shown(value: ShownValue | undefined, most?: number): Part {
  if (value === undefined) return "–";
  if ("unreadable" in value) return painted("red", `unreadable: ${value.unreadable.message}`);
  return shortValue(value.value, most);
}

/** Formats a message for people. The content of a message comes from a log and may have any form. */
export function messageText({ message }: Pick<MessageView, "message">): {
  readonly role: string;
  readonly text: string;
} {
  const { role, content } = Object("value" in message ? message.value : {}) as Readonly<Record<string, unknown>>;
  if (typeof role !== "string") return { role: "message", text: plain(shown(message)) };
  return { role: role.slice(0, 100), text: contentText(content) };
}

function contentText(content: unknown): string {
  if (typeof content === "string") return shortValue(content, longest);
  return Array.isArray(content) ? content.map((part) => partText(part)).join("\n") : shortValue(content, longest);
}

function partText(part: unknown): string {
  const { type, text, toolName, input, output } = Object(part) as Readonly<Record<string, unknown>>;
  if (type === "text" && typeof text === "string") return shortValue(text, longest);
  if (type === "tool-call") return `→ ${shortValue(toolName, 100)} ${shortValue(input, longest)}`;
  if (type === "tool-result") return `← ${shortValue(toolName, 100)} ${shortValue(output, longest)}`;
  return shortValue(part, longest);
}

export function statusOf(status: string): Painted {
  return painted(paints[status] ?? "bold", status);
}

/** Prints file changes under a title. Prints no title without changes. */
export async function fileLines(output: Output, title: string, files: readonly FileChangeView[]): Promise<void> {
  if (files.length === 0) return;
  await output.line();
  await output.line(painted("bold", title));
  const rows = files.map(({ path, change, before, after }) => [
    painted(changePaints[change], change),
    path,
    `${stateText(before)} → ${stateText(after)}`,
  ]);
  await output.table(["CHANGE", "FILE", "SIZE"], rows);
}

function stateText(state: FileStateView | undefined): string {
  if (state === undefined) return "none";
  return state.kind === "file" ? bytesText(state.bytes) : `link to ${state.target}`;
}

/** Returns the text for a wait whose time is over. `undefined` for a wait whose time is not over. */
export function dueText(output: Output, dueAt: string | undefined): string | undefined {
  if (dueAt === undefined || Date.parse(dueAt) > output.io.now()) return undefined;
  return `due ${output.ago(dueAt)}: resume it`;
}

/** Returns how to continue an agent that may not run in this storage. `undefined` for other statuses. */
export function awayText(status: string): string | undefined {
  return awayTexts[status];
}

const awayTexts: Readonly<Record<string, string>> = {
  moving: "a move is open: import its archive and call move finish, or call move cancel",
  moved: "it runs in another storage; before it moves back, delete it here with deleteAgent()",
  copied: "if the original no longer runs, continue this copy with resume --take-over",
};

/** Warns on standard error if only the beginning of an agent's log is readable. Returns the exit reason for damage. */
export async function warnOfDamage(
  { output }: Session,
  view: AgentInspector,
  agentId: string,
): Promise<ExitReason | void> {
  const [damage] = (await view.agent(agentId))?.damage ?? [];
  if (damage === undefined) return;
  const { code, message, lastPosition } = damage;
  const shown = lastPosition === 0 ? "No part of the log can be shown" : "Only the part before the damage is shown";
  const warning = `${shown}: ${message.replace(/\.$/, "")}. verify names all damage.`;
  if (output.json) await output.beside.item({ error: { code, message: warning } });
  else await output.beside.line(painted("yellow", `Warning: ${warning}`));
  return "damaged";
}

/** Reads the file of `--prices`, whose content the user of the prices validates. @throws CommandFailure */
export async function pricesIn({ cwd }: CommandIo, given: string | undefined): Promise<TokenPrices | undefined> {
  if (given === undefined) return undefined;
  return (await readJson(resolve(cwd, given), "a JSON file with prices")) as TokenPrices;
}
