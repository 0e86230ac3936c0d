import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { readRunTrace, type RunTrace } from "agent-persistence/replay";
import type { ScriptedTurn } from "agent-persistence/testing";
import { comparisonPage, type HiddenValues, type TimelineOptions } from "agent-persistence/timeline";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wholeSoak } from "../soak/cases.ts";
import { openBrowser } from "./browser/openBrowser.ts";
import { agentOn, hostileText } from "./picturedAgents.ts";

let browser: Browser;
let page: Page;
let files = 0;
const scratch = mkdtempSync(join(tmpdir(), "agent-persistence-comparison-"));

beforeAll(async () => {
  browser = await openBrowser();
  page = await browser.newPage();
});
afterAll(async () => {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
});

const signUp = (name: string, apiKey?: string) => ({
  toolName: "signUp",
  input: { name, ...(apiKey !== undefined && { apiKey }) },
});

async function traceOf(agentId: string, turns: readonly ScriptedTurn[]): Promise<RunTrace> {
  const storage = new InMemoryPersistenceStorageProvider();
  const usage = { inputTokens: 1_000, outputTokens: 200, totalTokens: 1_200 };
  await agentOn(storage, { turns, usage }).run("Sign up people.", { agentId });
  return readRunTrace(storage, { agentId });
}

const [alex, maria, jo] = [signUp("Alex"), signUp("Maria"), signUp("Jo")];
const before = () => traceOf("monday", [{ text: "I begin.", toolCalls: [alex, maria] }, "Two are in."]);
const after = () =>
  traceOf("tuesday", [
    { text: "I begin.", toolCalls: [alex, jo] },
    { toolCalls: [maria] },
    `All are in. ${hostileText}`,
  ]);

async function open(one: RunTrace, other: RunTrace, options: TimelineOptions = {}, width = 1200, dark = false) {
  const file = join(scratch, `${++files}.html`);
  const pieces: string[] = [];
  for await (const piece of comparisonPage(one, other, options)) pieces.push(piece);
  writeFileSync(file, pieces.join(""));
  for (const event of ["pageerror", "console", "request"] as const) page.removeAllListeners(event);
  page.on("pageerror", (error) => expect.unreachable(error.message));
  page.on("console", (message) => expect(`${message.type()}: ${message.text()}`).not.toMatch(/^error/));
  page.on("request", (request) => expect(request.url()).toMatch(/^file:/));
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  await page.goto(`file://${file}`);
  return pieces.join("");
}

const rows = () =>
  page
    .locator(".pair")
    .evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText.replaceAll(/\s+/g, " ").trim()));

/** Runs in the page. Returns what is wrong with the places of the steps and of their sides. */
function layoutDefects(): readonly string[] {
  const defects: string[] = [];
  const rows = Array.from(document.querySelectorAll(".pairs > li"));
  let bottom = -Infinity;
  for (const [at, row] of rows.entries()) {
    const step = `step ${at + 1}`;
    const box = row.getBoundingClientRect();
    if (box.height < 10) defects.push(`${step} is not visible`);
    if (box.top < bottom - 1) defects.push(`${step} overlaps the step before it`);
    if (box.right > innerWidth + 1) defects.push(`${step} is wider than the page`);
    bottom = Math.max(bottom, box.bottom);
    for (const [name, selector] of [
      ["sides", ".pair .side"],
      ["messages", ".sides > div"],
    ] as const) {
      const [left, right] = Array.from(row.querySelectorAll(selector)).map((side) => side.getBoundingClientRect());
      if (!left || !right) continue;
      const isBeside = Math.abs(left.top - right.top) <= 1 && left.right <= right.left + 1;
      const isBelow = innerWidth <= 800 && left.bottom <= right.top + 1 && Math.abs(left.left - right.left) <= 1;
      if (!isBeside && !isBelow) defects.push(`${step}: the ${name} are not aligned`);
      if (right.right > box.right + 1 || right.bottom > box.bottom + 1) defects.push(`${step}: the ${name} stick out`);
    }
  }
  return defects;
}

/** Runs in the page. Whether an element is inside the window, and not covered by another one. */
function isShown(element: Element): boolean {
  const { left, right, top, bottom, width, height } = element.getBoundingClientRect();
  if (width === 0 || height === 0 || left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return false;
  const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return found !== null && (element.contains(found) || found.contains(element));
}

describe("the page of two runs", () => {
  it("shows aligned steps with tokens, the first difference, and changed messages and calls side by side", async () => {
    const prices = { models: { scripted: { input: 3, output: 15 } } };
    await open(await before(), await after(), { prices });
    await expect
      .poll(() => rows())
      .toEqual([
        expect.stringMatching(/^callModel 1.2K tokens.* callModel 1.2K tokens.* changed, first difference$/),
        expect.stringMatching(/^callTools signUp, signUp callTools signUp, signUp changed$/),
        expect.stringMatching(/^callModel 1.2K tokens.* callModel 1.2K tokens.* changed$/),
        expect.stringMatching(/^– callTools signUp added$/),
        expect.stringMatching(/^– callModel 1.2K tokens.* added$/),
      ]);
    const figures = await page.locator("table").innerText();
    expect(figures).toMatch(/tokens\s+2,400\s+3,600/);
    expect(figures).toMatch(/cost\s+\$0\.012\s+\$0\.018/);
    const open1 = page.locator(".differences").first();
    await expect.poll(() => open1.innerText()).toMatch(/Maria[\s\S]*Jo/);
    const [left, right] = await open1
      .locator(".sides > div")
      .evaluateAll((sides) => sides.map((side) => side.getBoundingClientRect()));
    expect(left?.y).toBe(right?.y);
    expect(left?.right).toBeLessThanOrEqual(right?.x ?? 0);
    await page.getByText("callTools").first().click();
    await expect
      .poll(() => page.locator(".differences").nth(1).innerText())
      .toMatch(/signUp: input[\s\S]*− .*Maria[\s\S]*\+ .*Jo/);
    await page.getByRole("button", { name: "Go to the first difference" }).click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toContain("first difference");
    expect(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked)).toBeUndefined();
  });

  it("says that two runs of the same code are the same", async () => {
    await open(await before(), await before());
    await expect.poll(() => page.locator("header").innerText()).toContain("The runs are the same.");
    await expect.poll(() => page.locator("details").count()).toBe(0);
  });

  it("hides secrets and redacted paths, and counts them", async () => {
    const key = "sk-abcdefghijklmnopqrstuvwxyz";
    const secret = await traceOf("a", [{ toolCalls: [signUp("Alex", key)] }, "done"]);
    let hidden: HiddenValues | undefined;
    const options = { redact: ["signUp.input.name"], onHidden: (found: HiddenValues) => (hidden = found) };
    const html = await open(await before(), secret, options);
    expect(html).not.toContain(key);
    expect(html).not.toContain("Maria");
    expect(hidden).toMatchObject({ paths: ["signUp.input.name"], idle: [] });
    expect(hidden?.secrets).toBeGreaterThan(0);
  });

  it("aligns both sides of each step, without overlaps, and shows the first difference", async () => {
    const [one, other] = [await before(), await after()];
    for (const width of [1200, 700, 400]) {
      await open(one, other, {}, width);
      await expect.poll(() => page.locator(".pair").count()).toBe(5);
      for (const row of await page.locator("summary").all())
        if ((await row.evaluate((each) => (each.parentElement as HTMLDetailsElement).open)) === false)
          await row.click();
      expect(await page.evaluate(layoutDefects), `${width} wide`).toEqual([]);
      await page.getByRole("button", { name: "Go to the first difference" }).click();
      const first = page.getByText("changed, first difference");
      await expect.poll(() => first.evaluate(isShown), { message: `${width} wide` }).toBe(true);
    }
  });

  it("finds rows that are not aligned, that overlap, or that are too wide", async () => {
    await open(await before(), await after());
    await expect.poll(() => page.locator(".pair").count()).toBe(5);
    const defectsWith = (selector: string, property: string, value: string) =>
      page.evaluate(
        ([wanted, name, given]) => {
          const element = document.querySelector<HTMLElement>(wanted as string);
          element?.style.setProperty(name as string, given as string);
        },
        [selector, property, value],
      );
    expect(await page.evaluate(layoutDefects)).toEqual([]);
    await defectsWith(".pair .side:nth-child(2)", "margin-top", "20px");
    expect(await page.evaluate(layoutDefects)).toContain("step 1: the sides are not aligned");
    await defectsWith(".pairs > li:nth-child(3)", "margin-top", "-40px");
    expect(await page.evaluate(layoutDefects)).toContain("step 3 overlaps the step before it");
    await defectsWith(".pairs > li:nth-child(4)", "width", "2000px");
    expect(await page.evaluate(layoutDefects)).toContain("step 4 is wider than the page");
  });

  it("has no accessibility defects at two widths, light and dark", async () => {
    const [one, other] = [await before(), await after()];
    const looks: readonly (readonly [width: number, dark: boolean])[] = [
      [1200, true],
      [400, false],
      ...(wholeSoak
        ? ([
            [1200, false],
            [400, true],
          ] as const)
        : []),
    ];
    for (const [width, dark] of looks) {
      await open(one, other, {}, width, dark);
      for (const row of await page.locator("summary").all()) if (width === 1200) await row.click();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
        `${width}, dark: ${dark}`,
      ).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow).toBeLessThanOrEqual(0);
      if (process.env["PICTURES"])
        await page.screenshot({ path: join(process.env["PICTURES"], `comparison-${width}-${dark}.png`) });
    }
  });
});
