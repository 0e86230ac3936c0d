import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryPersistenceStorageProvider, persistence, type PersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import { timelinePage, type TimelineOptions } from "agent-persistence/timeline";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { wholeSoak } from "../soak/cases.ts";
import { Coder } from "../workspace/fixture.ts";
import { openBrowser } from "./browser/openBrowser.ts";
import { manySteps } from "./manySteps.ts";
import * as pictured from "./picturedAgents.ts";

interface OpenedPage {
  readonly page: Page;
  /** The rows in the document, each in one line of text. */
  readonly rows: () => Promise<readonly string[]>;
  /** Clicks on the first row that begins with a text. */
  readonly choose: (text: string, modifier?: "Shift") => Promise<void>;
  readonly tab: (name: string) => Promise<void>;
  readonly details: () => Promise<string>;
}

let browser: Browser;
/** All tests share a tab, because the start of its process takes longer than most tests. */
let tab: Page | undefined;
/** The tab of one test, whose script runs before that of the page. */
let ownTab: Page | undefined;
let files = 0;
const scratch = mkdtempSync(join(tmpdir(), "agent-persistence-timeline-"));

beforeAll(async () => {
  browser = await openBrowser();
});
afterEach(async () => {
  await ownTab?.close();
  ownTab = undefined;
});
afterAll(async () => {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
});

type Picture = (storage: PersistenceStorageProvider, agentId: string) => Promise<void>;
interface OpenOptions extends TimelineOptions {
  readonly width?: number | undefined;
  readonly dark?: boolean | undefined;
  /** Runs in the page before its own script. */
  readonly before?: (() => void) | undefined;
}

/** The page of an agent that really ran, opened as a file. An error in the page or a breach of its policy fails the test. */
async function open(picture: Picture, options: OpenOptions = {}): Promise<OpenedPage> {
  const storage = new InMemoryPersistenceStorageProvider();
  await picture(storage, "agent");
  return openStored(storage, "agent", options);
}

async function openStored(
  storage: PersistenceStorageProvider,
  agentId: string,
  options: OpenOptions = {},
): Promise<OpenedPage> {
  const { width, dark, before, ...shown } = options;
  const pieces: string[] = [];
  const view = inspect(storage, { maxValueLength: Infinity });
  for await (const piece of timelinePage(view, agentId, shown)) pieces.push(piece);
  return openHtml(pieces.join(""), { width, dark, before });
}

async function openHtml(
  html: string,
  { width = 1200, dark = false, before }: Pick<OpenOptions, "width" | "dark" | "before"> = {},
): Promise<OpenedPage> {
  const file = join(scratch, `${++files}.html`);
  writeFileSync(file, html);
  const page = before ? (ownTab = await browser.newPage()) : (tab ??= await browser.newPage());
  if (before) await page.addInitScript(before);
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light", media: null });
  for (const event of ["pageerror", "console", "request"] as const) page.removeAllListeners(event);
  page.on("pageerror", (error) => expect.unreachable(error.message));
  page.on("console", (message) => expect(`${message.type()}: ${message.text()}`).not.toMatch(/^error/));
  page.on("request", (request) => expect(request.url()).toMatch(/^file:/));
  await page.goto(`file://${file}`);
  const textsOf = (rows: readonly Element[]) =>
    rows.map((row) => (row as HTMLElement).innerText.replaceAll(/\s+/g, " "));
  return {
    page,
    rows: () => page.locator(".row").evaluateAll(textsOf),
    choose: async (text, modifier) => {
      await page
        .locator(".row.item", { hasText: new RegExp(`^${text}`) })
        .first()
        .click({ modifiers: modifier ? [modifier] : [] });
    },
    tab: (name) => page.getByRole("tab", { name }).click(),
    details: () => page.locator("aside").innerText(),
  };
}

/** A storage with what a picture shows. */
function stored(picture: (storage: PersistenceStorageProvider) => Promise<void>) {
  return async (): Promise<PersistenceStorageProvider> => {
    const storage = new InMemoryPersistenceStorageProvider();
    await picture(storage);
    return storage;
  };
}

/** What a screen reader, or a person who sees few colors, would stumble over. */
async function defectsOf({ page }: OpenedPage): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

describe("pictures of a run", () => {
  it("parallel calls form one group, each with its state", async () => {
    const opened = await open(pictured.parallelCalls);
    await expect
      .poll(() => opened.rows())
      .toEqual([
        expect.stringMatching(/^Run .*Sign up three people\./),
        expect.stringMatching(/^callModel .*I sign three people up\./),
        expect.stringMatching(/^callTools .*Succeeded: signUp.*Failed: signUp.*Succeeded: signUp/),
        expect.stringMatching(/^callModel head completed .*Two are in\./),
      ]);
    const group = opened.page.locator(".calls.parallel .call");
    const boxes = await group.evaluateAll((calls) => calls.map((call) => call.getBoundingClientRect().y));
    expect(boxes).toHaveLength(3);
    expect(new Set(boxes).size).toBe(1);
  });

  it("parallel calls wrap if space is short, and their names stay whole", async () => {
    const { page } = await open(pictured.parallelCalls, { width: 400 });
    const names = page.locator(".call .tool");
    await expect
      .poll(() => names.evaluateAll((all) => all.map((name) => name.scrollWidth > name.clientWidth)))
      .toEqual([false, false, false]);
    const [row, last] = [page.locator(".row", { has: names }), page.locator(".call").last()];
    const bottomOf = async (place: typeof row) =>
      ((box) => (box?.y ?? 0) + (box?.height ?? 0))(await place.boundingBox());
    expect(await bottomOf(last)).toBeLessThanOrEqual(await bottomOf(row));
  });

  it("tokens, costs and durations appear in the rows and at the top", async () => {
    const prices = { models: { scripted: { input: 3, output: 15 } } };
    const { page, rows } = await open(pictured.spent, { prices });
    await expect
      .poll(() => rows())
      .toContainEqual(expect.stringMatching(/^callModel .*1.2K tokens\s?·?\s?\$0.006\s?·?\s?2 s/));
    const top = () => page.locator(".notes").innerText();
    await expect.poll(() => top()).toMatch(/5 s of work.*2,400 tokens.*\$0\.012/s);
    const without = await open(pictured.spent, { prices: { currency: "EUR", models: {} } });
    await expect.poll(() => without.page.locator(".notes").innerText()).toContain("no price for 2 answers");
    await expect.poll(() => without.rows()).not.toContainEqual(expect.stringContaining("€"));
  });

  it("a crash is a row, and so is the hour until another process took over", async () => {
    const { page, ...opened } = await open(pictured.crash);
    const rows = await opened.rows();
    const taken = rows.findIndex((row) => row.startsWith("Taken over after a crash"));
    expect(taken).toBeGreaterThan(0);
    expect(rows.some((row) => row.includes("1 h later"))).toBe(true);
    const options = await page
      .locator("[role=option]")
      .evaluateAll((found) => found.map((each) => [each.ariaPosInSet, each.ariaSetSize]));
    expect(options).toEqual(options.map((_each, at) => [String(at + 1), String(options.length)]));
  });

  it("a call in doubt has a distinct shape, with the run's failure below", async () => {
    const opened = await open(pictured.doubt);
    const rows = await opened.rows();
    expect(rows.some((row) => row.includes("In doubt: tell"))).toBe(true);
    expect(rows.some((row) => /^Failed .*ToolCallInDoubtError/.test(row))).toBe(true);
    await expect.poll(() => opened.page.locator(".row .glyph.in_doubt").count()).toBe(1);
  });

  it("a rollback is an edge back, and its reverted calls are struck through", async () => {
    const opened = await open(pictured.rollback);
    const { page } = opened;
    await expect.poll(() => page.locator(".edge.back").count()).toBe(1);
    await expect.poll(() => page.locator(".row s.tool").allInnerTexts()).toEqual(["signUp"]);
    await expect.poll(() => page.locator(".row .call.irreversible").count()).toBe(1);
    await opened.choose("Rollback");
    await expect.poll(() => opened.details()).toMatch(/signUp\s+Reverted[\s\S]*tell\s+Irreversible/);
  });

  it("a rollback states the number of remaining effects, whose steps do not look reverted", async () => {
    const { page, rows } = await open(pictured.rollback);
    await expect.poll(() => rows()).toContainEqual(expect.stringMatching(/^Rollback 1 reverted, 1 effect stays/));
    await expect.poll(() => page.locator(".step.left.kept .tool").allInnerTexts()).toEqual(["tell"]);
    await expect.poll(() => page.locator(".step.left.reverted .tool").allInnerTexts()).toEqual(["signUp"]);
    await page.getByRole("button", { name: "Left, effects stay" }).click();
    await expect.poll(() => rows()).toEqual([expect.stringMatching(/^callTools effects stay .*Irreversible: tell/)]);
  });

  it("an unfinished rollback states the number of remaining calls", async () => {
    const { rows } = await open(pictured.openRollback);
    await expect
      .poll(() => rows())
      .toContainEqual(expect.stringMatching(/^Rollback, not finished 0 reverted, 2 to go/));
  });

  it("branches have separate lines and are joined again", async () => {
    const opened = await open(pictured.branches);
    const marks = await opened.page
      .locator(".graph .glyph")
      .evaluateAll((glyphs) => glyphs.map((glyph) => glyph.getAttribute("transform")?.split(/[( ]/)[1]));
    expect(new Set(marks).size).toBe(3);
    await expect.poll(() => opened.page.locator(".edge").count()).toBe(8);
  });

  it("a wait shows the question, the answer, its author and the delay", async () => {
    const rows = await (await open(pictured.wait)).rows();
    expect(rows.some((row) => /Which size of shirt\? answered by kim after 2 h .*XL/.test(row))).toBe(true);
    expect(rows.some((row) => row.includes("Which color? waits for an answer"))).toBe(true);
  });

  it("running steps are marked as running and interrupted ones as interrupted", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const letGo = await pictured.running(storage, "slow");
    const live = await openStored(storage, "slow");
    await expect.poll(() => live.page.locator(".row .tag.running").count()).toBe(1);
    await expect.poll(() => live.page.locator(".graph .glyph.running").count()).toBe(1);
    await letGo();
    const dead = await open(pictured.cut);
    await expect.poll(() => dead.page.locator(".row .tag.cut").count()).toBe(1);
  });

  it("a fork and a new owner after an end are rows", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await pictured.wait(storage, "one");
    await persistence(pictured.agentOn(storage, {})).agent("one").fork("other");
    const rows = await (await openStored(storage, "other")).rows();
    expect(rows.some((row) => row.startsWith("Forked"))).toBe(true);
    const owners = await (await openStored(storage, "one")).rows();
    expect(owners.some((row) => row.startsWith("New owner"))).toBe(true);
    expect(owners.some((row) => row.startsWith("Taken over"))).toBe(false);
  });

  it("a damaged log is shown up to its damage, which is a row", async () => {
    const folder = join(scratch, "damaged");
    await pictured.parallelCalls(new FilePersistenceStorageProvider({ directory: folder }), "agent");
    damage(folder);
    const opened = await openStored(new FilePersistenceStorageProvider({ directory: folder }), "agent");
    const rows = await opened.rows();
    expect(rows.at(0)).toContain("Sign up three people.");
    expect(rows.at(-1)).toMatch(/^Damage .*intact/);
  });
});

/** Changes a word in the middle of the only log. */
function damage(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const file = join(folder, names.find((name) => name.endsWith(".jsonl")) ?? "");
  const [whole, changed] = ['"node":"callModel","input":{"$outcomes"', '"node":"callModle","input":{"$outcomes"'];
  writeFileSync(file, readFileSync(file, "utf8").replace(whole, changed));
}

describe("the details of a step", () => {
  it("one step shows its messages, input, storage and records, and two steps their differences", async () => {
    const opened = await open(pictured.branches);
    await opened.choose("facts");
    await opened.page.keyboard.press("End");
    await opened.tab("Storage");
    await expect.poll(() => opened.details()).toContain("Clouds has a name.");
    await opened.tab("Messages");
    await expect.poll(() => opened.details()).toContain("You sign people up.");
    await opened.tab("Records");
    await expect.poll(() => opened.details()).toContain('kind: "checkpoint"');
    await opened.choose("Run", "Shift");
    await expect.poll(() => opened.details()).toMatch(/What differs[\s\S]*Storage: notes/);
  });

  it("files are shown with the changes of a step and the differences between two steps", async () => {
    const coder = new Coder([
      ["write_file", { path: "notes.md", content: "one\ntwo\nthree\n" }],
      ["write_file", { path: "notes.md", content: "one\n2\nthree\n</pre><b>four\n" }],
      ["write_file", { path: "other.md", content: "new\n" }],
      ["delete_file", { path: "other.md" }],
    ]);
    await coder.run();
    const opened = await openStored(coder.storage, "coder");
    const steps = opened.page.locator(".row.item", { hasText: /^callTools/ });
    const words = async (): Promise<string> => (await opened.details()).replaceAll(/\s+/g, " ");
    for (const [step, shown] of [
      "notes.md created + one + two + three",
      "notes.md modified one − two + 2 three + </pre><b>four",
      "other.md created + new Changed before notes.md",
      "other.md deleted − new",
    ].entries()) {
      await steps.nth(step).click();
      await opened.tab("Files");
      await expect.poll(() => words()).toContain(shown);
    }
    await steps.nth(0).click({ modifiers: ["Shift"] });
    await expect.poll(() => words()).toContain("What differs");
    await expect.poll(() => words()).toContain("notes.md modified one − 2 + two three − </pre><b>four");
  });

  it("every part is reachable with the keyboard", async () => {
    const { page, details } = await open(pictured.parallelCalls);
    await page.keyboard.press("/");
    await page.keyboard.type("Two are in");
    await expect.poll(() => page.locator(".row.item").count()).toBe(1);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".row.item").count()).toBe(4);
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    await expect.poll(() => details()).toContain("3 tool calls side by side");
    await page.keyboard.press("Shift+ArrowUp");
    await expect.poll(() => details()).toContain("What differs");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("What differs");
    await page.keyboard.press("Escape");
    await expect.poll(() => details()).toContain("I sign three people up.");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => details()).toContain("3 tool calls side by side");
  });

  it("the arrow keys select steps without a previous tab, and Escape keeps the step", async () => {
    const { page, details } = await open(pictured.parallelCalls, { width: 1280 });
    for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    await page.keyboard.press("Escape");
    await expect.poll(() => details()).toContain("I sign three people up.");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => details()).toContain("3 tool calls side by side");
  });

  it("at 400 pixels the arrow keys stay in the list, Enter opens the details, and Escape closes them", async () => {
    const { page, details } = await open(pictured.parallelCalls, { width: 400 });
    const chosen = () => page.locator(".row[aria-selected=true]").innerText();
    const focused = () => page.evaluate(() => document.activeElement?.className || document.activeElement?.tagName);
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
    await expect.poll(() => chosen()).toMatch(/^callTools/);
    await expect.poll(() => focused()).toBe("list");
    await expect.poll(() => page.locator("aside").isVisible()).toBe(false);
    await page.keyboard.press("Enter");
    await expect.poll(() => details()).toContain("3 tool calls side by side");
    await expect.poll(() => focused()).toBe("H2");
    await page.keyboard.press("k");
    await expect.poll(() => details()).toContain("I sign three people up.");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("aside").isVisible()).toBe(false);
    await expect.poll(() => focused()).toBe("list");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => chosen()).toMatch(/^callTools/);
  });

  it("the address names the chosen steps and restores them", async () => {
    const { page, choose, details } = await open(pictured.parallelCalls);
    await choose("callTools");
    await expect.poll(() => new URL(page.url()).hash).toBe("#checkpoint+1-3");
    await expect.poll(() => page.getByLabel("Link to this step").getAttribute("href")).toBe("#checkpoint+1-3");
    await choose("Run", "Shift");
    const { hash } = new URL(page.url());
    await page.reload();
    await expect.poll(() => details()).toContain("What differs");
    expect(new URL(page.url()).hash).toBe(hash);
    for (const lost of ["#checkpoint+9-9", "#%E0%A4%A"]) {
      await page.evaluate((to) => (location.hash = to), lost);
      await expect.poll(() => details()).toContain("Choose a step");
    }
  });

  it("keys work immediately after loading", async () => {
    const press = (): void => {
      document.addEventListener("DOMContentLoaded", () =>
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true })),
      );
    };
    const { page } = await open(pictured.parallelCalls, { before: press });
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
  });

  it("a search, a tool and a state filter the rows", async () => {
    const { page, rows } = await open(pictured.rollback);
    await page.getByLabel("Tool").selectOption("tell");
    await expect
      .poll(() => rows())
      .toEqual([expect.stringContaining("Irreversible: tell"), expect.stringMatching(/^Rollback/)]);
    await page.getByLabel("Tool").selectOption("");
    await page.getByRole("button", { name: "Reverted" }).click();
    await expect.poll(async () => (await rows()).every((row) => /callModel|callTools|Rollback/.test(row))).toBe(true);
    await expect.poll(() => page.locator(".count").innerText()).toMatch(/^\d+ of \d+$/);
  });
});

describe("accessibility", () => {
  it("the page has no accessibility defects, light and dark, wide and narrow", async () => {
    const looks: readonly (readonly [width: number, dark: boolean])[] = [
      [1200, true],
      [400, false],
      ...(wholeSoak ? [[1200, false] as const] : []),
    ];
    for (const [width, dark] of looks) {
      const opened = await open(pictured.rollback, { width, dark });
      expect(await defectsOf(opened), `${width}, dark: ${dark}`).toEqual([]);
      await opened.choose("callTools");
      expect(await defectsOf(opened), `chosen, ${width}, dark: ${dark}`).toEqual([]);
    }
  });

  it("a page of 400 pixels shows list and details one after the other without overflow", async () => {
    const opened = await open(pictured.parallelCalls, { width: 400 });
    const { page } = opened;
    const widest = () => page.evaluate(() => document.documentElement.scrollWidth);
    await expect.poll(() => widest()).toBe(400);
    await opened.choose("callTools");
    await expect.poll(() => page.locator(".list").isVisible()).toBe(false);
    await expect.poll(() => widest()).toBe(400);
    await page.getByLabel("Close the details").click();
    await expect.poll(() => page.locator(".list").isVisible()).toBe(true);
  });
});

describe("the printed page", () => {
  it("is white and has every row", async () => {
    const { page, rows } = await openHtml(await manySteps(200), { dark: true });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await expect.poll(async () => (await rows()).length).toBeLessThan(60);
    expect(await paper()).not.toBe("rgb(255, 255, 255)");
    await page.emulateMedia({ media: "print" });
    await expect.poll(async () => (await rows()).length).toBe(200);
    await expect.poll(() => paper()).toBe("rgb(255, 255, 255)");
    const last = await page.locator(".row").last().boundingBox();
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    expect(height).toBeGreaterThanOrEqual((last?.y ?? 0) + (last?.height ?? 0));
  });
});

describe("hostile payloads", () => {
  it("markup and five megabytes are shown as text and run no script", async () => {
    const opened = await open(pictured.hostile);
    const { page } = opened;
    await opened.choose("Run");
    await opened.tab("Messages");
    await page.keyboard.press("Escape");
    await page.locator(".list").focus();
    await page.keyboard.press("End");
    await expect.poll(() => opened.details()).toContain("</script><script>window.hacked=1");
    await expect.poll(() => opened.details()).toMatch(/Show more \(5\.0 M characters hidden\)/);
    await expect.poll(() => page.evaluate(() => "hacked" in window)).toBe(false);
    await expect.poll(() => page.locator("img").count()).toBe(0);
    await expect.poll(() => page.locator("script").count()).toBe(2);
  });

  it.each([
    ["the most levels that a run can store", stored((storage) => pictured.hostile(storage, "a"))],
    ["10,000 levels", () => pictured.forged("a")],
  ])("a value of %s does not break the page", async (_name, storageOf) => {
    const opened = await openStored(await storageOf(), "a deep");
    await opened.choose("keep");
    await opened.tab("Storage");
    await expect.poll(() => opened.details()).toMatch(/deep changed here\s+\[\s+\[\s+\[/);
  });

  it("text with reordering characters is shown with escapes", async () => {
    const opened = await open((storage, agentId) => pictured.said(storage, agentId, "file\u202egnp.exe \x1b[31m שלום"));
    await expect
      .poll(() => opened.rows())
      .toContainEqual(expect.stringContaining("file\\u{202e}gnp.exe \\x1b[31m שלום"));
  });

  it("the policy blocks an injected script and every request", async () => {
    const { page } = await open(pictured.parallelCalls);
    page.removeAllListeners("console");
    const ran = await page.evaluate(async () => {
      for (const write of [
        () => document.body.append(Object.assign(document.createElement("script"), { text: "window.hacked=1" })),
        () => (document.body.innerHTML += '<img src="x" onerror="window.hacked=1">'),
      ]) {
        try {
          write();
        } catch {
          // Text is not taken as a script.
        }
      }
      const asked = await fetch("https://example.com/").then(
        () => true,
        () => false,
      );
      return asked || "hacked" in window;
    });
    expect(ran).toBe(false);
  });
});

describe("hidden values", () => {
  it("likely secrets are hidden everywhere, and the page shows their number", async () => {
    const { page } = await open(pictured.parallelCalls);
    await expect.poll(() => page.content()).not.toContain("k-1234567890");
    await expect.poll(() => page.locator(".notes").innerText()).toMatch(/[1-9]\d* values hidden as likely secrets/);
  });

  it("values at a path to redact are nowhere in the page", async () => {
    const { page } = await open(pictured.parallelCalls, { redact: ["signUp.input.email"], secrets: "show" });
    await expect.poll(() => page.content()).not.toContain("@example.com");
    await expect.poll(() => page.content()).toContain("k-1234567890");
    const notes = await page.locator(".notes").innerText();
    expect(notes).toContain("Secrets are not hidden");
    expect(notes).toMatch(/[1-9]\d* redacted at signUp\.input\.email/);
  });
});

describe("page size", () => {
  it("ten thousand checkpoints are in the page, but only the visible ones are in the document", async () => {
    const { page, rows } = await openHtml(await manySteps(10_000));
    await expect.poll(async () => (await rows()).length).toBeLessThan(60);
    await page.locator(".list").focus();
    await page.keyboard.press("End");
    await expect.poll(async () => (await rows()).at(-1)).toContain("step 9999");
    await expect.poll(async () => (await rows()).length).toBeLessThan(60);
    await page.locator("#search").fill("step 5000");
    await expect.poll(() => rows()).toEqual([expect.stringContaining("step 5000")]);
  });

  it("script and style take at most 120 KB, with the licenses of their contents", async () => {
    const { page } = await open(pictured.parallelCalls);
    const [bytes, script] = await page.evaluate(() => {
      const elements = Array.from(document.querySelectorAll("style, script:not([type])"));
      const texts = elements.map(({ textContent }) => textContent ?? "");
      return [texts.join("").length, texts.at(-1) ?? ""] as const;
    });
    expect(bytes).toBeLessThan(120_000);
    expect(script).toContain("Permission is hereby granted, free of charge");
  });
});
