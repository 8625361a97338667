//! Portuguese.

use super::super::cue::Sort;
use super::Table;

pub(super) const PT: Table = Table {
    language: "pt",
    is_spaced: true,
    common: "o a os as de que e do da em um uma para com não no na se por mais mas meu minha nosso nossa é são eu você \
        ao à dos das muito todos todas até antes cada tem tenho sou isso às pelo pela",
    lead: "e mas também então bem ok sim não olá oi obrigado obrigada aliás por favor",
    vague: "isso isto aquilo alguém ninguém tudo nada ele ela eles quem que aqui",
    asks: "^podes | ^pode | ^você pode | ^poderia",
    doubts: "^se | talvez | provavelmente | possivelmente | eventualmente | acho que | creio que | penso que | suponho | será que | não sei | \
        não tenho certeza | poderia | poderíamos | seria | teria | imagine | imagina | suponha | por exemplo | parece que | diz que | \
        disse que",
    passing: "hoje | agora | neste momento | no momento | esta noite | esta manhã | obrigad* | boa sorte | até logo | até breve | desculpe | \
        desculpa | parabéns | perfeito | ótimo | estou cansad* | estou no | estou feliz | em anexo",
    orders: "ignore … instruções | ignora … instruções | esqueça … instruções | esquece … instruções | guarde que o usuário | \
        lembre que o usuário | o usuário autoriza | o usuário quer | o utilizador quer | memorize que | nota para a ia | agora você é | \
        modelo de linguagem",
    sets: &[
        ("my", "meu | minha | meus | minhas | o meu | a minha | nosso | nossa"),
        (
            "kin",
            "esposa | esposo | mulher | marido | companheiro | companheira | namorado | namorada | filho | filha | filhos | filhas | mãe | pai | \
            pais | irmã | irmão | irmãos | avó | avô | tia | tio | primo | prima | sobrinho | sobrinha | chefe | colega | assistente | médico | \
            médica | dentista | advogado | advogada | vizinho | vizinha | amigo | amiga | cachorro | cão | gato | gata",
        ),
        (
            "time",
            "até | antes d* | na segunda | na terça | na quarta | na quinta | na sexta | amanhã | na próxima semana",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^todos … devem | ^todas … devem | ^cada … deve | não devem | não deve | é proibido | é proibida | é obrigatório | \
            é obrigatória | são obrigatórios | nós nunca | nós sempre",
        ),
        (
            Sort::Todo,
            "^todo : | ^tarefa | ^pendente | é preciso | preciso | precisamos | tenho que | tenho de | temos que | temos de | devo | \
            deve … <time> | devem … <time> | precisa … <time> | tem que … <time> | não esquecer | não se esqueça | não te esqueças | enviarei | \
            vou enviar | prazo | ^próximo passo | lembrar de",
        ),
        (
            Sort::Decision,
            "decidimos | decidi | foi decidido | ficou decidido | ^decisão | concordamos | combinamos | ficou combinado | escolhemos | \
            optamos por | vamos ficar com | vamos usar | não vamos",
        ),
        (
            Sort::Insight,
            "^lição | aprendemos que | aprendi que | percebemos que | percebi que | descobrimos | descobri | acontece que | \
            ^conclusão | a causa foi",
        ),
        (Sort::Birthday, "meu aniversário | minha data de nascimento | nasci em | nasci no dia | faço anos"),
        (Sort::Name, "meu nome é | chamo me | me chamo"),
        (
            Sort::Contact,
            "meu sobrenome | meu apelido | me chame de | trata me por | meu número | meu telefone | meu celular | meu telemóvel | meu e mail | meu email | meu endereço | minha morada | \
            falar comigo",
        ),
        (
            Sort::Instruction,
            "^responda | ^responde | de agora em diante | a partir de agora | no futuro | ^não me ligue | ^não me ligues | \
            ^não use | ^use sempre | ^nunca | ^sempre responda | quero que você",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | tenho um <kin> | tenho uma <kin> | tenho dois <kin> | tenho duas <kin> | <my> <kin> se chama | <my> <kin> é",
        ),
        (
            Sort::Constraint,
            "alérgico | alérgica | alergia | intolerante | celíac* | não como | não bebo | não posso comer | no máximo | \
            não mais de | não mais que | é limitado | é limitada | limitado a | limitada a | orçamento é",
        ),
        (
            Sort::Preference,
            "prefiro | gosto de | eu gosto | adoro | odeio | detesto | não gosto | sempre uso | nunca uso | uso sempre | costumo | \
            sou vegetarian* | sou vegan* | meu … favorito | minha … favorita | meu … preferido | evito | prefere | eu amo",
        ),
        (
            Sort::Biography,
            "moro em | moro no | moro na | vivo em | vivo no | vivo na | trabalho como | trabalho em | trabalho na | trabalho no | \
            sou de | sou do | sou da | sou um | sou uma | estudo | estudei | falo | tenho … anos | mudei me | me mudei | sou casad* | \
            sou engenheir* | sou médic* | sou professor* | meu escritório | minha casa | meu carro | meu trabalho | minha profissão | \
            minha língua | ensino | dirijo | sou diabétic*",
        ),
        (
            Sort::Project,
            "usamos | utilizamos | nossa … é | nosso … é | nossa … usa | nosso … usa | nossa … fica | nosso … fica | nossa … tem | \
            nosso … tem | nossa … fecha | nosso … está | temos … funcionários | trabalhamos com | ^correção :",
        ),
        (
            Sort::Thing,
            "é escrito em | é escrita em | roda em | corre em | fica em | fica no | fica na | está localizad* | é baseado | usa | utiliza | \
            fecha às | abre às | começa às | começa em | termina em | é responsável | trabalha como | trabalha na | trabalha no | mora em | fala | \
            dirige | custa | pertence | é o diretor | é a diretora | consiste em | são armazenad*",
        ),
        (Sort::Idea, "^ideia | ^pensamento | acho que | penso que | na minha opinião | poderíamos | talvez"),
    ],
};
