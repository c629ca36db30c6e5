/** The style sheet of the pages: one column, system fonts, light or dark by preference, and a text contrast of at least 7:1. */

export const STYLE = `:root { color-scheme: light dark; --text: #1b1f24; --quiet: #474e57; --page: #f3f4f6; --card: #fff; --line: #767d86; --act: #0b4f9e; --on-act: #fff; --bad: #8f1620; }
@media (prefers-color-scheme: dark) {
  :root { --text: #f0f2f5; --quiet: #c3c9d1; --page: #14171b; --card: #1d2126; --line: #8b939d; --act: #9cc8ff; --on-act: #0a1a2c; --bad: #ffb3b3; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 8vh 1rem 2rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 30rem; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.brand, .organization { display: flex; align-items: center; gap: .5rem; font-weight: 600; }
.brand { color: var(--quiet); }
.organization { font-size: 1.125rem; }
.organization img { max-width: 10rem; max-height: 3rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.125rem; }
p, dl, ul { margin: 0 0 1rem; overflow-wrap: anywhere; }
dt { color: var(--quiet); }
dd { margin: 0 0 .5rem; font-weight: 600; }
code, textarea { font: .9375rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
.hint { margin-bottom: .5rem; color: var(--quiet); }
input, textarea { width: 100%; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .25rem; background: var(--card); color: var(--text); font-size: 1rem; }
textarea { resize: vertical; }
.code { letter-spacing: .125em; font-family: ui-monospace, monospace; }
button { min-height: 2.75rem; margin: .75rem .5rem 0 0; padding: .5rem 1.25rem; border: 2px solid var(--act); border-radius: .25rem; background: var(--act); color: var(--on-act); font: inherit; font-weight: 600; cursor: pointer; }
button.other { background: transparent; color: var(--act); }
a { color: var(--act); }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
.qr { display: block; width: 12rem; margin-bottom: 1rem; }
.codes { columns: 2; padding: 0; list-style: none; }
.problem { padding: .75rem 1rem; border-left: .25rem solid var(--bad); color: var(--bad); font-weight: 600; }
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0b4f9e"/><path d="M9 7h4v7h6V7h4v18h-4v-7h-6v7H9z" fill="#fff"/></svg>
`;
