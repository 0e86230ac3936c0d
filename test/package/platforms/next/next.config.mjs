// The directory above has a lockfile too, and Next.js would take it for the root.
export default { outputFileTracingRoot: import.meta.dirname, turbopack: { root: import.meta.dirname } };
