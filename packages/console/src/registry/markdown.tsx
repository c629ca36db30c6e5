/** Markdown that others wrote, as React elements: no HTML of the text reaches the page, and nothing loads from other servers. */
import { Anchor, Code, Typography } from "@mantine/core";
import MarkdownToJsx from "markdown-to-jsx";
import type { ReactNode } from "react";

export function Markdown({ text }: { readonly text: string }) {
  return (
    <Typography>
      <MarkdownToJsx
        options={{
          disableParsingRawHTML: true,
          forceBlock: true,
          overrides: { a: SafeLink, img: ImageText, h1: Heading, h2: Heading, h3: Heading, pre: Block },
        }}
      >
        {text}
      </MarkdownToJsx>
    </Typography>
  );
}

function SafeLink({ href = "", children }: { readonly href?: string; readonly children?: ReactNode }) {
  const isWeb = /^https?:\/\//i.test(href);
  if (!isWeb) return <span>{children}</span>;
  return (
    <Anchor href={href} rel="noreferrer noopener nofollow" target="_blank" style={{ textDecoration: "underline" }}>
      {children}
    </Anchor>
  );
}

/** An image would tell its server who reads the readme; its description stands in for it. */
function ImageText({ alt = "" }: { readonly alt?: string }) {
  return <span>{alt === "" ? "[image]" : `[image: ${alt}]`}</span>;
}

/** The screen has the headings above. */
function Heading({ children }: { readonly children?: ReactNode }) {
  return <h2>{children}</h2>;
}

function Block({ children }: { readonly children?: ReactNode }) {
  return (
    <Code block tabIndex={0} component="pre">
      {children}
    </Code>
  );
}
