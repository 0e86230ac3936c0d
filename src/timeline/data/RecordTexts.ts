import type { EntryView } from "../../inspect/view/EntryView.ts";
import type { ShownTexts } from "./ShownTexts.ts";

/** The raw records of a log as text, read along with its steps. */
export class RecordTexts {
  readonly #entries: AsyncIterator<EntryView> | undefined;
  readonly #texts: ShownTexts;
  /** A record after the last step that was read ahead. */
  #next: EntryView | undefined;
  #isOver = false;
  #newest: { readonly position: number; readonly texts: readonly string[] } | undefined;

  /** @param entries `undefined` omits records */
  constructor(entries: AsyncIterable<EntryView> | undefined, texts: ShownTexts) {
    this.#entries = entries?.[Symbol.asyncIterator]();
    this.#texts = texts;
  }

  /** Returns the new records up to a position. Steps that end in the same append all get its records. */
  async upTo(position: number): Promise<readonly string[]> {
    const texts: string[] = [];
    if (this.#newest?.position === position) return this.#newest.texts;
    for (let entry = await this.#peek(); entry && entry.position <= position; entry = await this.#peek()) {
      this.#next = undefined;
      this.#newest = { position: entry.position, texts: this.#textsOf(entry) };
      texts.push(...this.#newest.texts);
    }
    return texts;
  }

  #textsOf({ position, generation, records }: EntryView): readonly string[] {
    return records.map((record) => this.#texts.plain({ position, generation, ...record }, ["records"]));
  }

  async close(): Promise<void> {
    await this.#entries?.return?.();
  }

  /** Stops at damage, which the page shows in a separate row. */
  async #peek(): Promise<EntryView | undefined> {
    if (this.#next !== undefined || this.#isOver || this.#entries === undefined) return this.#next;
    try {
      const { value, done } = await this.#entries.next();
      this.#isOver = done === true;
      if (!this.#isOver) this.#next = value as EntryView;
    } catch {
      this.#isOver = true;
    }
    return this.#next;
  }
}
