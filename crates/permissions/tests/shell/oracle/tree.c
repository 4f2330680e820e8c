/* tree: a loadable builtin of bash that shows what bash's own parser makes of a line.
 *
 * It is test tooling: it is built where the tests run, against bash's headers, and is no part of what ships.
 * Like everything that is linked with bash it is under the GPL, version 3 or later.
 *
 * It reads frames from standard input, a length in decimal, a line break and that many bytes, and answers each with
 * fields that end in a NUL, the first byte of which says what they are:
 *
 *   C        a simple command begins (or the redirections of a compound one, or the head of a `for`)
 *   F name   the variable of a `for`
 *   A text   an assignment        W text   a word        R text   a redirection: operator, blank, target
 *   V text   one of the arguments that bash makes of the word before it; words in which something would be run or
 *            looked up are followed by none
 *   D        the word before it holds such a thing
 *   E        bash reports an error here; what was listed before it would have run
 *   .        the end of the answer
 *
 * Nothing is executed. Each line is read in a child, so that errors cannot spoil the next.
 */
#include <config.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/wait.h>
#include "builtins.h"
#include "shell.h"
#include "bashjmp.h"
#include "common.h"

/* The package has no input.h; this is the head of the structure as the parser lays it out. */
struct oracle_input {
  int type;
  char *name;
  union { FILE *file; char *string; int buffered_fd; } location;
};
extern struct oracle_input bash_input;
extern void with_input_from_string (char *, const char *);
extern void reset_parser (void);

#define MOST_TEXTS 20000
static char *texts[MOST_TEXTS]; /* What is nested and still to be read. */
static int text_count;

static void field (char kind, const char *text)
{
  putchar (kind);
  fputs (text, stdout);
  putchar (0);
}

static void later (char *text)
{
  if (text && text_count < MOST_TEXTS)
    texts[text_count++] = text;
}

static int scan (const char *, int, int);

/* Finds the brace that closes the one before `at`. */
static int closing_brace (const char *s, int at)
{
  int depth = 1;
  for (; s[at]; at++)
    {
      if (s[at] == '\\' && s[at + 1]) at++;
      else if (s[at] == '{') depth++;
      else if (s[at] == '}' && --depth == 0) break;
    }
  return at;
}

static int is_arithmetic (const char *text)
{
  int length = strlen (text), depth = 0, at;
  if (length < 2 || text[0] != '(' || text[length - 1] != ')') return 0;
  for (at = 1; at < length - 1; at++)
    {
      if (text[at] == '(') depth++;
      else if (text[at] == ')' && --depth < 0) return 0;
    }
  return depth == 0;
}

static int scan_backquoted (const char *s, int at, int quoted)
{
  char *body = xmalloc (strlen (s) + 1);
  int length = 0;
  for (at++; s[at] && s[at] != '`'; at++)
    {
      if (s[at] == '\\' && s[at + 1] && strchr (quoted ? "$`\\\"" : "$`\\", s[at + 1])) at++;
      body[length++] = s[at];
    }
  body[length] = 0;
  later (body);
  return at;
}

/* Looks at what a dollar begins; gives the place of its last byte, and whether it is anything. */
static int scan_dollar (const char *s, int at, int quoted, int *dynamic)
{
  int end = at + 2;
  char next = s[at + 1];
  if (next == '(')
    {
      char *text = extract_command_subst ((char *)s, &end, 0);
      *dynamic = 1;
      if (text && is_arithmetic (text)) scan (text, 1, 0);
      else later (text);
      return end;
    }
  if (next == '{')
    {
      char *inner;
      end = closing_brace (s, at + 2);
      inner = strdup (s + at + 2);
      inner[end - at - 2] = 0;
      scan (inner, quoted, 0);
      *dynamic = 1;
      return s[end] ? end : end - 1;
    }
  if (isalnum ((unsigned char)next) || (next && strchr ("_@*#?-$![", next)))
    {
      *dynamic = 1;
      return at + 1;
    }
  return at;
}

/* Looks for what is run or looked up in a word. `here` is for the body of a here-document. */
static int scan (const char *s, int quoted, int here)
{
  int at, dynamic = 0;
  for (at = 0; s[at]; at++)
    switch (s[at])
      {
      case '\\':
        if (s[at + 1]) at++;
        break;
      case '\'':
        if (!quoted)
          for (at++; s[at + 1] && s[at] != '\''; at++);
        break;
      case '"':
        if (!here) quoted = !quoted;
        break;
      case '`':
        at = scan_backquoted (s, at, quoted);
        dynamic = 1;
        if (!s[at]) return dynamic;
        break;
      case '$':
        at = scan_dollar (s, at, quoted, &dynamic);
        break;
      case '<':
      case '>':
        if (!quoted && s[at + 1] == '(')
          {
            int end = at + 2;
            later (extract_process_subst ((char *)s, s[at] == '<' ? "<(" : ">(", &end, 0));
            dynamic = 1;
            at = end;
          }
        break;
      }
  return dynamic;
}

static void values (WORD_DESC *word)
{
  WORD_LIST *list = make_word_list (copy_word (word), NULL);
  list = make_word_list (make_word ("x"), list);
  list = expand_words (list);
  for (list = list ? list->next : NULL; list; list = list->next)
    field ('V', list->word->word);
}

static void word (WORD_DESC *word)
{
  field ('W', word->word);
  if (scan (word->word, 0, 0)) field ('D', "");
  else values (word);
}

static void set (WORD_DESC *word)
{
  const char *value = strchr (word->word, '=');
  field ('A', word->word);
  if (scan (word->word, 0, 0) || (word->flags & W_COMPASSIGN) || !value) field ('D', "");
  else
    {
      char *text = expand_assignment_string_to_string ((char *)value + 1, 0);
      field ('V', text ? text : "");
    }
}

static const char *operator_of (REDIRECT *redirect)
{
  switch (redirect->instruction)
    {
    case r_output_direction: return ">";
    case r_input_direction: case r_inputa_direction: return "<";
    case r_appending_to: return ">>";
    case r_reading_until: case r_deblank_reading_until: return "<<";
    case r_reading_string: return "<<<";
    case r_err_and_out: return "&>";
    case r_append_err_and_out: return "&>>";
    case r_input_output: return "<>";
    case r_output_force: return ">|";
    case r_duplicating_input: case r_duplicating_output: case r_close_this: return NULL;
    default: return "other";
    }
}

static void redirections (REDIRECT *redirect)
{
  for (; redirect; redirect = redirect->next)
    {
      const char *operator = operator_of (redirect);
      if (redirect->rflags & REDIR_VARASSIGN) operator = "named";
      if (!operator) continue;
      printf ("R%s ", operator);
      if (!strcmp (operator, "<<"))
        {
          fputs (redirect->here_doc_eof ? redirect->here_doc_eof : "", stdout);
          putchar (0);
          if (redirect->redirectee.filename && !(redirect->redirectee.filename->flags & W_QUOTED)
              && redirect->redirectee.filename->word)
            scan (redirect->redirectee.filename->word, 1, 1);
          continue;
        }
      fputs (redirect->redirectee.filename->word, stdout);
      putchar (0);
      if (scan (redirect->redirectee.filename->word, 0, 0)) field ('D', "");
      else values (redirect->redirectee.filename);
    }
}

static void simple (SIMPLE_COM *command)
{
  WORD_LIST *list = command->words;
  field ('C', "");
  for (; list && (list->word->flags & W_ASSIGNMENT); list = list->next)
    set (list->word);
  for (; list; list = list->next)
    word (list->word);
  redirections (command->redirects);
}

static void scan_list (WORD_LIST *list, int quoted)
{
  for (; list; list = list->next)
    scan (list->word->word, quoted, 0);
}

static void conditional (COND_COM *cond)
{
  if (!cond) return;
  if (cond->type == COND_TERM && cond->op) scan (cond->op->word, 0, 0);
  conditional (cond->left);
  conditional (cond->right);
}

static void walk (COMMAND *);

static void cases (CASE_COM *command)
{
  PATTERN_LIST *clause;
  scan (command->word->word, 0, 0);
  for (clause = command->clauses; clause; clause = clause->next)
    {
      scan_list (clause->patterns, 0);
      walk (clause->action);
    }
}

static void loop_head (WORD_DESC *name, WORD_LIST *list)
{
  field ('C', "");
  field ('F', name->word);
  scan_list (list, 0);
}

static void walk (COMMAND *command)
{
  if (!command) return;
  switch (command->type)
    {
    case cm_simple: simple (command->value.Simple); return;
    case cm_connection:
      walk (command->value.Connection->first);
      walk (command->value.Connection->second);
      break;
    case cm_for:
      loop_head (command->value.For->name, command->value.For->map_list);
      walk (command->value.For->action);
      break;
    case cm_select:
      loop_head (command->value.Select->name, command->value.Select->map_list);
      walk (command->value.Select->action);
      break;
    case cm_case: cases (command->value.Case); break;
    case cm_while:
    case cm_until:
      walk (command->value.While->test);
      walk (command->value.While->action);
      break;
    case cm_if:
      walk (command->value.If->test);
      walk (command->value.If->true_case);
      walk (command->value.If->false_case);
      break;
    case cm_group: walk (command->value.Group->command); break;
    case cm_subshell: walk (command->value.Subshell->command); break;
    case cm_coproc: walk (command->value.Coproc->command); break;
    case cm_function_def: walk (command->value.Function_def->command); break;
    case cm_arith: scan_list (command->value.Arith->exp, 1); break;
    case cm_arith_for:
      scan_list (command->value.ArithFor->init, 1);
      scan_list (command->value.ArithFor->test, 1);
      scan_list (command->value.ArithFor->step, 1);
      walk (command->value.ArithFor->action);
      break;
    case cm_cond: conditional (command->value.Cond); break;
    default: field ('E', "");
    }
  if (command->redirects)
    {
      field ('C', "");
      redirections (command->redirects);
    }
}

static void read_text (char *text)
{
  with_input_from_string (text, "oracle");
  while (*bash_input.location.string)
    {
      COMMAND *command;
      if (parse_command () != 0)
        {
          field ('E', "");
          return;
        }
      command = global_command;
      global_command = NULL;
      walk (command);
    }
}

static void answer (char *line)
{
  int next;
  int silent = open ("/dev/null", O_WRONLY);
  dup2 (silent, 2);
  alarm (10);
  if (setjmp_nosigs (top_level))
    {
      field ('E', "");
      fflush (stdout);
      _exit (0);
    }
  reset_parser ();
  read_text (line);
  for (next = 0; next < text_count; next++)
    read_text (texts[next]);
  fflush (stdout);
  _exit (0);
}

static int tree_builtin (WORD_LIST *list)
{
  int length;
  (void) list;
  while (scanf ("%d", &length) == 1 && getchar () == '\n')
    {
      char *line = xmalloc (length + 1);
      pid_t child;
      int status = 0;
      if (fread (line, 1, length, stdin) != (size_t) length) return EXECUTION_FAILURE;
      line[length] = 0;
      fflush (stdout);
      child = fork ();
      if (child == 0) answer (line);
      if (child < 0 || waitpid (child, &status, 0) < 0 || status != 0) field ('E', "child");
      field ('.', "");
      fflush (stdout);
      xfree (line);
    }
  return EXECUTION_SUCCESS;
}

static char *tree_doc[] = { "Show what the parser makes of lines.", NULL };

struct builtin tree_struct = { "tree", tree_builtin, BUILTIN_ENABLED, tree_doc, "tree", 0 };
