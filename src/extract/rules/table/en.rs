//! English.

use super::super::cue::Sort;
use super::Table;

pub(crate) const EN: Table = Table {
    language: "en",
    is_spaced: true,
    common: "the and of to is in that it was for on are with as i his they at be this have from or had by not but \
        what we an your all my me our you do i'm don't need will has please",
    lead: "and but also so well ok okay yes no hi hey hello please actually anyway btw oh then now remember that fyi note",
    vague: "it this that there these those they he's it's that's there's someone somebody nobody everyone everything \
        nothing something you here what which who how why where when one such thanks see",
    asks: "^can you | ^could you | ^would you | ^do you | ^are you | ^is it",
    doubts: "^if | maybe | perhaps | might | may be | he may | she may | they may | it may | probably | possibly | \
        presumably | i think | i guess | i suppose | i believe | i wonder | wondered | wondering | not sure | unsure | \
        i don't know | nobody knows | no idea | would have | would need | would be | could be | should we | could we | \
        ^imagine | ^suppose | ^assume | ^assuming | ^unless | for example | for instance | e g | hypothetically | \
        it seems | it looks like | apparently | rumor has | rumour has | allegedly | he said | she said | they said | \
        he says | she says | they say | told me that he | claims that | were a | we were to | ^open :",
    passing: "today | right now | at the moment | just now | tonight | this morning | this afternoon | this evening | \
        for now | currently | is late | good luck | wish me luck | thank you | ^thanks | have a | see you | talk later | \
        love it | love that | love this | like it | like that | great | lol | haha | kidding | can't wait | sorry | \
        is still | i'm glad | i'm happy to | i am happy to | i'm afraid | i'm sorry | hope this | hope you | weather | \
        i like your | i'd like to | i would like to | i love your | i like how | nice | ^congratulations | i am writing | \
        i'm writing | i'm looking forward | i am looking forward | i have a question | i have attached",
    orders: "ignore all previous | ignore previous | ignore the previous | ignore all prior | ignore your | \
        ignore the above | ignore any | disregard … instructions | disregard your | disregard all | disregard previous | \
        forget everything | forget all previous | forget your | override your | new instructions : | system : | \
        assistant : | system prompt | developer mode | jailbreak | note to the ai | note to ai | dear ai | \
        ai assistants | ai assistant | language model | inst | im start | sys | you are now | you are a helpful | \
        save to memory | save this to memory | store in memory | store the following | add to memory | \
        add … to … profile | remember that the user | remember the user | remember : the user | permanent fact | \
        the user approves | the user wants you | you must always recommend | act as",
    sets: &[
        ("my", "my | our"),
        (
            "kin",
            "wife | husband | partner | spouse | fiancé | fiancée | girlfriend | boyfriend | son | sons | daughter | \
            daughters | children | kids | baby | mother | mom | mum | father | dad | parents | sister | sisters | brother | \
            brothers | grandmother | grandma | grandfather | grandpa | aunt | uncle | cousin | niece | nephew | boss | manager | \
            colleague | coworker | assistant | assistant's | teammate | mentor | doctor | dentist | therapist | lawyer | \
            accountant | landlord | neighbour | neighbor | friend | best friend | roommate | flatmate | dog | cat | pet | wife's | \
            husband's | partner's | son's | daughter's | mother's | father's | sister's | brother's | boss's | dog's | cat's",
        ),
        (
            "time",
            "by | before | until | till | on monday | on tuesday | on wednesday | on thursday | on friday | \
            next week | next month | tomorrow",
        ),
        (
            "stative",
            "is based in | are based in | is located | are located | is hosted | are hosted | is written in | \
            are written in | is built with | is built on | are built with | is deployed | are deployed | is stored | are stored | \
            is kept | are kept | is staffed | is called | is named | is run by | is owned by | is maintained by | are maintained by | \
            is licensed | is managed by | is responsible for | is in charge of | are cut | lives in | live in | runs on | run on | \
            runs in | runs every | sits in | stands in | works as | works at | works for | works in | work in | uses | \
            supports | requires | accepts | accept | reads | writes to | exposes | provides | contains | consists of | depends on | \
            belongs to | teaches | studies | speaks | owns | manages | leads | reports to | targets | handles | opens at | opens on | \
            closes at | closes on | starts at | starts on | starts every | begins on | ends on | ends at | expires on | expires after | \
            takes place | meets every | happens every | is on | is at | is the | is our | is his | is her | is allergic | \
            is vegetarian | is vegan | is married | was born | was founded | has … employees | has … users | costs | listens on | \
            is due | ships | sells | is version | is always | are always",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^all … must | ^every … must | ^each … must | ^all … have to | ^every … needs | ^every … requires | \
            ^each … needs | ^all … need | ^every … has to | ^all … should | ^every … should | must not | must never | \
            must always | must be | are not allowed | is not allowed | are forbidden | is forbidden | is prohibited | is mandatory | \
            are mandatory | are required to | is required for | we never | we always | we only | we don't allow | no one may | \
            nobody may | never deploy | our policy | company policy | releases are | are cut on",
        ),
        (
            Sort::Todo,
            "^todo | ^to do : | todo : | ^fixme : | ^action item | ^action : | ^next step | need to | needs to | \
            ^need … <time> | i have to | we have to | has to | have to … <time> | must … <time> | ^i must | ^i'll … <time> | \
            i will … <time> | we'll … <time> | we will … <time> | will send … <time> | ^remember to | don't forget to | \
            make sure to … <time> | i promised to | i owe | ^reminder : | ^reminder to | assigned to | is due by | is due on | \
            deadline is | deadline :",
        ),
        (
            Sort::Decision,
            "we decided | we've decided | we have decided | i decided | i've decided | was decided | were decided | \
            ^decided | ^decision | we agreed | we've agreed | we have agreed | it was agreed | ^agreed | let's go with | \
            we'll go with | we will go with | going with | we chose | we've chosen | we have chosen | we picked | we settled on | \
            we will not | we won't | we'll not | we are switching to | we're switching to | we are moving to | we're moving to | \
            we are going to | we're keeping | we will keep | we'll keep | was approved | the plan is to | we opted for | i chose",
        ),
        (
            Sort::Insight,
            "lesson learned | lessons learned | ^lesson | we learned that | i learned that | we've learned | \
            i've learned | learned the hard way | we realised | we realized | i realised | i realized | turns out | turned out | \
            we found out | i found out | we found that | i found that | we discovered | i discovered | key takeaway | \
            ^takeaway | ^insight | the root cause | the reason was | we noticed that | i noticed that",
        ),
        (Sort::Birthday, "my birthday | i was born on | my date of birth"),
        (Sort::Name, "my name is | my name's | i'm called | i am called"),
        (
            Sort::Contact,
            "my full name | my surname | my last name | my first name | my nickname | call me … | i go by | my … number is | my phone | my mobile | my email | my e mail | my address is | my new address | reach me at | \
            reach me on | contact me at | contact me on | my handle is | my username is | email me at",
        ),
        (
            Sort::Instruction,
            "^always | ^never | ^don't | ^do not | from now on | in the future … please | going forward | \
            ^call me | ^address me | ^use … when you | ^reply in | ^answer in | ^respond in | ^keep … answers | ^keep … replies | \
            i want you to | i expect you to | ^stop",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | ^i have a <kin> | i have two <kin> | we have two <kin> | we have a <kin> | i have three <kin> | \
            <my> <kin> is | <my> <kin> works | <my> <kin> lives | my ex | 's birthday is | 's wife is | 's husband is | 's manager is | \
            's boss is | 's name is | s birthday is | s manager is | s wife is | s husband is",
        ),
        (
            Sort::Constraint,
            "allergic to | intolerant | i can't eat | i cannot eat | i don't eat | i can't drink | i don't drink | \
            i can't stand for | my limit is | limited to | is capped | are capped | capped at | must not exceed | at most | no more than | \
            no later than | my budget is | our budget is | the budget is | only available | i can only | we can only | i am not allowed | \
            the maximum | the minimum | i'm colour blind | i'm color blind | i use a wheelchair | hard limit",
        ),
        (
            Sort::Preference,
            "i prefer | i'd prefer | i would prefer | we prefer | user prefers | prefers | i like | i love | i enjoy | \
            i hate | i dislike | i don't like | i do not like | i detest | i can't stand | i'd rather | i would rather | i always | i never | \
            i usually | i tend to | i avoid | i'm a fan of | i am a fan of | my favourite | my favorite | i'm vegetarian | i am vegetarian | \
            i'm vegan | i am vegan | i'm a vegetarian | i'm a vegan | likes | dislikes | hates | my preferred | i only use | i only eat | \
            i only drink | user likes | user wants … to be",
        ),
        (
            Sort::Biography,
            "i live | i moved | i work | i'm from | i am from | i come from | i grew up | i was born | i study | i studied | \
            i graduated | i speak | i'm a | i am a | i'm an | i am an | i am the | i'm the | i've been | i have been | i own | i run | i teach | \
            i play | i have a | i have an | i have two | i have three | my job | my office | my home | my house | my car | my hobby | \
            my hobbies | my degree | my company | my profession | my native language | my mother tongue | my time zone | my timezone | \
            i'm married | i am married | i'm diabetic | i'm … years old | i am … years old | i joined | i use | i drive | i'm based | \
            i am based | i founded | i'm responsible for | i am responsible for | i manage | i lead",
        ),
        (
            Sort::Project,
            "we use | we don't use | we do not use | we're using | we are using | we run | we host | we deploy | we ship | we store | we support | we sell | \
            we close | we open | we meet | we have … employees | we are based | we're based | we follow | we keep | we build | we write | \
            our … is | our … are | our … has | our … uses | our … runs | our … lives | our … closes | our … opens | our … works | \
            ^the project | ^the codebase | ^correction :",
        ),
        (Sort::Thing, "<stative>"),
        (
            Sort::Idea,
            "^idea | ^thought | i think | in my opinion | what if | it would be | we could | maybe | perhaps | i wonder | i feel",
        ),
    ],
};
