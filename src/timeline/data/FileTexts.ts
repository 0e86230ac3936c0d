import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import type { FileChangeView, FileStateView } from "../../inspect/view/FileChangeView.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ShownTexts } from "./ShownTexts.ts";
import type { TimelineFile } from "./TimelineData.ts";

/** The size in bytes above which only the path of a file is shown. */
const largest = 256 * 1024;

export class FileTexts {
  readonly #inspector: Pick<AgentInspector, "fileContent">;
  readonly #agentId: string;
  readonly #texts: ShownTexts;

  constructor(inspector: Pick<AgentInspector, "fileContent">, agentId: string, texts: ShownTexts) {
    this.#inspector = inspector;
    this.#agentId = agentId;
    this.#texts = texts;
  }

  async of(changes: readonly FileChangeView[]): Promise<readonly TimelineFile[]> {
    const files: TimelineFile[] = [];
    for (const { path, change, before, after } of changes) {
      const old = await this.#textOf(before);
      const now = await this.#textOf(after);
      const note = now.note ?? old.note;
      files.push(withoutUndefined({ path, change, before: old.text, after: now.text, note }));
    }
    return files;
  }

  async #textOf(state: FileStateView | undefined): Promise<{ readonly text?: string; readonly note?: string }> {
    if (state === undefined) return {};
    if (state.kind === "link") return { note: `a link to ${state.target}` };
    if (state.bytes > largest) return { note: `${state.bytes} bytes, too large to be shown` };
    const bytes = await this.#inspector.fileContent(this.#agentId, state.hash).catch(() => undefined);
    if (bytes === undefined) return { note: "its content is not in the log" };
    if (bytes.includes(0)) return { note: `${state.bytes} bytes that are no text` };
    return { text: this.#texts.text(new TextDecoder().decode(bytes)) };
  }
}
