import { defineConfig } from "vitepress";
import { entries, manifest } from "../entries.ts";
import { pageGroups, projectGroup } from "../pageGroups.ts";

const groups = pageGroups();
const linkOf = (file: string): string => `/${file.replace(/(README)?\.md$/, "")}`;
const projectPages = groups.filter(({ title }) => title === projectGroup).flatMap(({ pages }) => pages);
const unsearched = new Set(projectPages.map(({ file }) => file));

/** Returns the anchor that GitHub gives to a heading, because the pages use these. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

export default defineConfig({
  title: "agent-persistence",
  description: manifest.description,
  base: process.env["DOCS_BASE"] ?? "/",
  srcDir: "dist/source",
  outDir: "dist/site",
  cacheDir: "node_modules/.cache/vitepress",
  // Pages have no unused code, and looking for it takes a quarter of the time.
  vite: { build: { rollupOptions: { treeshake: false }, reportCompressedSize: false } },
  // Stored pages contain no HTML, but text such as `Map<string, string>`.
  markdown: { html: false, anchor: { slugify: anchorOf } },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        // Code is not searched, because highlighting it again takes long.
        _render: (text, env, markdown) =>
          unsearched.has(env.relativePath) ? "" : markdown.render(text.replaceAll(/```[\s\S]*?```/g, ""), env),
      },
    },
    outline: [2, 3],
    nav: [
      { text: "Documentation", link: "/contents" },
      { text: "API", link: "/api/" },
    ],
    sidebar: [
      { text: "Documentation", link: "/contents" },
      ...groups
        .filter(({ title }) => title !== projectGroup)
        .map(({ title, pages }) => ({
          text: title,
          items: pages.map((page) => ({ text: page.title, link: linkOf(page.file) })),
        })),
      {
        text: "API",
        collapsed: true,
        items: entries.map(({ name, file }) => ({ text: name, link: file === "index" ? "/api/" : `/api/${file}` })),
      },
    ],
  },
});
